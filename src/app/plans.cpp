#include "app/plans.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "tiffany/core/world.hpp"
#include "tiffany/io/directory.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/serve/http.hpp"

namespace tiffany::app {
namespace {

constexpr std::size_t kMostPlans = 1000;

// "deploy" of "deploy.yaml"; nothing for what is no plan.
std::optional<std::string> plan_name(std::string_view file) {
  for (const std::string_view ending : {".yaml", ".yml", ".json"}) {
    if (file.ends_with(ending) && file.size() > ending.size()) {
      return std::string(file.substr(0, file.size() - ending.size()));
    }
  }
  return std::nullopt;
}

Task<std::vector<DirectoryEntry>> entries_of(std::string directory) {
  std::vector<DirectoryEntry> found;
  if (directory.empty()) co_return found;
  try {
    found = co_await list_directory(std::move(directory), kMostPlans);
  } catch (const IoError& error) {
    if (error.number() != ENOENT) throw;
  }
  co_return found;
}

Task<KnownPlan> read_plan(std::string name, std::string path) {
  KnownPlan known;
  known.name = std::move(name);
  known.file = path;
  known.text = co_await read_file(path, plan::kMostBytes);
  known.checked = plan::check(known.text, std::move(path));
  co_return known;
}

// The directory of the program that runs; empty when nobody knows it.
std::string own_directory() {
  WorldFiles& files = World::current().files();
  const int fd = files.open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  const std::string path = files.path_of(fd);
  files.close(fd);
  return path.substr(0, path.rfind('/'));
}

}  // namespace

Task<std::vector<KnownPlan>> known_plans(std::string directory) {
  std::vector<KnownPlan> all;
  const std::vector<DirectoryEntry> entries = co_await entries_of(std::move(directory));
  for (const DirectoryEntry& entry : entries) {
    std::optional<std::string> name = plan_name(entry.name());
    if (!name || entry.kind == EntryKind::directory) continue;
    all.push_back(co_await read_plan(std::move(*name), entry.path));
  }
  co_return all;
}

// By a listing, and not by a path that is made of the name: a name cannot lead elsewhere.
Task<KnownPlan> known_plan(std::string directory, std::string name) {
  const std::vector<DirectoryEntry> entries = co_await entries_of(std::move(directory));
  for (const DirectoryEntry& entry : entries) {
    if (plan_name(entry.name()) != name || entry.kind == EntryKind::directory) continue;
    co_return co_await read_plan(std::move(name), entry.path);
  }
  throw http::HttpError(
      404, "There is no plan \"" + name + "\" in the directory that the setting plans names.");
}

std::string find_runner() {
  const std::string own = own_directory();
  WorldFiles& files = World::current().files();
  for (const std::string& path :
       {own + "/tiffany-run", own + "/../tiffany-run", own + "/../lib/tiffany/tiffany-run",
        std::string("/usr/lib/tiffany/tiffany-run")}) {
    if (files.access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

}  // namespace tiffany::app

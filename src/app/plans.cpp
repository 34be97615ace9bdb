#include "app/plans.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "plan/sub_plans.hpp"
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

// Of paths without "." and "..": path_from has taken these away.
bool stands_below(const std::string& path, const std::string& directory) {
  const std::string below = plan::path_from("", directory);
  if (!below.empty()) return path.starts_with(below + "/");
  return !path.starts_with('/') && !path.starts_with("../");
}

// Nothing for a file that cannot be read: the check of the plan tells of it.
Task<std::optional<std::string>> text_of_plan(std::string path) {
  std::optional<std::string> text;
  try {
    text = co_await read_file(path, plan::kMostBytes);
  } catch (const IoError&) {
    text.reset();
  }
  co_return text;
}

Task<KnownPlan> read_plan(std::string name, std::string path, std::string directory) {
  KnownPlan known;
  known.name = std::move(name);
  known.file = path;
  known.text = co_await read_file(path, plan::kMostBytes);
  const plan::Files files = co_await sub_plan_files(known.text, path, std::move(directory));
  known.checked = plan::check(known.text, std::move(path), files);
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
  const std::vector<DirectoryEntry> entries = co_await entries_of(directory);
  for (const DirectoryEntry& entry : entries) {
    std::optional<std::string> name = plan_name(entry.name());
    if (!name || entry.kind == EntryKind::directory) continue;
    all.push_back(co_await read_plan(std::move(*name), entry.path, directory));
  }
  co_return all;
}

// By a listing, and not by a path that is made of the name: a name cannot lead elsewhere.
Task<KnownPlan> known_plan(std::string directory, std::string name) {
  const std::vector<DirectoryEntry> entries = co_await entries_of(directory);
  for (const DirectoryEntry& entry : entries) {
    if (plan_name(entry.name()) != name || entry.kind == EntryKind::directory) continue;
    co_return co_await read_plan(std::move(name), entry.path, directory);
  }
  throw http::HttpError(
      404, "There is no plan \"" + name + "\" in the directory that the setting plans names.");
}

Task<plan::Files> sub_plan_files(std::string text, std::string file, std::string below) {
  plan::Files files;
  std::vector<std::string> wanted = plan::files_of(text, file);
  for (std::size_t i = 0; i < wanted.size() && files.size() <= plan::kMostFiles; ++i) {
    const std::string path = wanted[i];
    if (files.count(path) != 0 || (!below.empty() && !stands_below(path, below))) continue;
    std::optional<std::string> read = co_await text_of_plan(path);
    if (!read) continue;
    for (std::string& more : plan::files_of(*read, path)) wanted.push_back(std::move(more));
    files.emplace(path, std::move(*read));
  }
  co_return files;
}

Uuid id_of_text(const std::string& text) {
  return Uuid::parse(text).value_or(Uuid::derived(Uuid(), "idempotency key " + text));
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

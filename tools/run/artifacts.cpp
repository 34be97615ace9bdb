#include "artifacts.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/sha256.hpp"

namespace tiffany::supervisor {
namespace {

constexpr std::size_t kMostFiles = 1000;
constexpr std::size_t kMostLooks = 100'000;  // entries of directories, for all patterns

std::string stored_name(std::size_t number) { return "artifact." + std::to_string(number); }

struct CloseEntries {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

// Why a pattern is none; empty: it is one.
std::string pattern_problem(std::string_view pattern) {
  const std::string shown = "The artifact \"" + std::string(pattern.substr(0, 200)) + "\" ";
  if (pattern.empty() || pattern.starts_with('/')) {
    return shown + "is not a path below the directory of the command.";
  }
  for (std::string_view rest = pattern;;) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    if (part.empty() || part == "..") {
      return shown + "has an empty part or \"..\" in it, and must stay below the directory.";
    }
    if (part.size() == rest.size()) return "";
    rest.remove_prefix(part.size() + 1);
  }
}

class Collector {
 public:
  Collector(const CommandDirectory& directory, const exec::CommandSpec& spec,
            exec::CommandResult& result)
      : directory_(directory), spec_(spec), result_(result), left_(spec.artifact_bytes) {}

  void run() {
    const std::string at = spec_.directory.empty() ? "." : spec_.directory;
    const Fd base(open(at.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (base.get() < 0) return complain("The directory " + at + " cannot be opened.");
    for (const std::string& pattern : spec_.artifacts) {
      const std::string problem = pattern_problem(pattern);
      if (!problem.empty()) {
        complain(problem);
        continue;
      }
      const std::size_t before = found_;
      look(base.get(), "", pattern);
      if (found_ == before) {
        complain("The command left no file \"" + pattern + "\", which its artifacts name.");
      }
    }
  }

 private:
  void complain(const std::string& sentence) {
    std::string& all = result_.artifact_problem;
    if (all.size() < 1000) all += (all.empty() ? "" : " ") + sentence;
  }

  void look(int base, const std::string& before, std::string_view pattern) {
    const std::string part(pattern.substr(0, pattern.find('/')));
    const bool last = part.size() == pattern.size();
    const std::string_view rest = last ? std::string_view() : pattern.substr(part.size() + 1);
    if (part.find_first_of("*?[\\") == std::string::npos) return enter(base, before, part, rest);
    std::set<std::string> names;  // in an order that does not depend on the disk
    const int copy = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const std::unique_ptr<DIR, CloseEntries> all(copy < 0 ? nullptr : fdopendir(copy));
    while (all != nullptr) {
      const dirent* const entry = readdir(all.get());
      if (entry == nullptr || ++looks_ > kMostLooks) break;
      if (fnmatch(part.c_str(), entry->d_name, FNM_PERIOD) == 0) names.insert(entry->d_name);
    }
    for (const std::string& name : names) {
      if (name != "." && name != "..") enter(base, before, name, rest);
    }
  }

  void enter(int base, const std::string& before, const std::string& name, std::string_view rest) {
    if (!rest.empty()) {
      const Fd inner(openat(base, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (inner.get() >= 0) look(inner.get(), before + name + "/", rest);
      return;
    }
    const Fd file(
        openat(base, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (file.get() < 0) {
      if (errno == ENOENT) return;
      const char* const why = errno == ELOOP ? "is a symbolic link" : std::strerror(errno);
      ++found_;
      return complain("The artifact \"" + before + name + "\" was not kept: " + why + ".");
    }
    struct stat about{};
    if (fstat(file.get(), &about) != 0 || S_ISDIR(about.st_mode)) return;
    ++found_;
    if (!S_ISREG(about.st_mode)) {
      return complain("The artifact \"" + before + name + "\" is no plain file.");
    }
    if (known_.insert(before + name).second) keep(file.get(), before + name);
  }

  void keep(int file, const std::string& name) {
    if (result_.artifacts.size() >= kMostFiles) {
      return complain("There are more than " + std::to_string(kMostFiles) + " artifacts.");
    }
    std::string text;
    std::array<char, 64 * 1024> room;
    for (;;) {
      const ssize_t n = read(file, room.data(), room.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return complain("The artifact \"" + name + "\" cannot be read.");
      if (n == 0) break;
      text.append(room.data(), static_cast<std::size_t>(n));
      if (text.size() > left_) {
        return complain("The artifact \"" + name +
                        "\" was not kept: the artifacts of a step have " + "at most " +
                        std::to_string(spec_.artifact_bytes) + " bytes.");
      }
    }
    try {
      directory_.replace(stored_name(result_.artifacts.size()).c_str(), text, spec_.synced);
    } catch (const Refusal& refusal) {
      return complain(refusal.what());
    }
    left_ -= text.size();
    result_.artifacts.push_back({name, text.size(), sha256_hex(text)});
  }

  const CommandDirectory& directory_;
  const exec::CommandSpec& spec_;
  exec::CommandResult& result_;
  std::uint64_t left_;
  std::size_t looks_ = 0;
  std::size_t found_ = 0;
  std::set<std::string> known_;
};

}  // namespace

void keep_artifacts(const CommandDirectory& directory, const exec::CommandSpec& spec,
                    exec::CommandResult& result) {
  if (!spec.artifacts.empty()) Collector(directory, spec, result).run();
}

}  // namespace tiffany::supervisor

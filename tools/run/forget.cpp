#include "forget.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "files.hpp"

namespace tiffany::supervisor {
namespace {

// These go last, in this order: what a crash leaves in between has still ended.
constexpr std::array<std::string_view, 5> kLast{"spec.json", "supervisor", "exit.json", "stop",
                                                "lock"};

struct CloseListing {
  void operator()(DIR* directory) const noexcept { closedir(directory); }
};

std::vector<std::string> names_in(int directory, const std::string& what) {
  const int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, CloseListing> all(own < 0 ? nullptr : fdopendir(own));
  if (all == nullptr) refuse("list", what);
  std::vector<std::string> names;
  while (const dirent* const entry = readdir(all.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

bool unlink_at(int directory, const std::string& name) {
  if (unlinkat(directory, name.c_str(), 0) == 0 || errno == ENOENT) return true;
  if (errno == EISDIR || errno == EPERM) return false;
  refuse("remove", name);
}

Fd open_inner(int top, const std::string& name) {
  return Fd(openat(top, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// A directory that the command made. Those in it are moved up to `top` and have their turn later:
// so it does not matter how deep they are.
void empty(int top, const std::string& name, std::size_t& moved) {
  Fd inner = open_inner(top, name);
  if (inner.get() < 0 && errno == EACCES && fchmodat(top, name.c_str(), 0700, 0) == 0) {
    inner = open_inner(top, name);
  }
  if (inner.get() < 0) refuse("open", name);
  fchmod(inner.get(), 0700);  // what may not be written cannot be emptied
  for (const std::string& each : names_in(inner.get(), name)) {
    if (unlink_at(inner.get(), each)) continue;
    std::string to;
    do {
      to = "removed." + std::to_string(++moved);
    } while (faccessat(top, to.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0);
    const auto move = [&] { return renameat(inner.get(), each.c_str(), top, to.c_str()) == 0; };
    if (move()) continue;
    // A directory that may not be written cannot be moved to another one.
    if (errno != EACCES || fchmodat(inner.get(), each.c_str(), 0700, 0) != 0 || !move()) {
      refuse("move", each);
    }
  }
  if (unlinkat(top, name.c_str(), AT_REMOVEDIR) != 0) refuse("remove", name);
}

void remove_other(const CommandDirectory& directory, std::size_t& moved) {
  for (bool again = true; again;) {
    again = false;
    for (const std::string& name : names_in(directory.fd(), directory.path())) {
      if (std::find(kLast.begin(), kLast.end(), name) != kLast.end()) continue;
      if (unlink_at(directory.fd(), name)) continue;
      empty(directory.fd(), name, moved);
      again = true;
    }
  }
}

void remove_all(const CommandDirectory& directory) {
  std::size_t moved = 0;
  remove_other(directory, moved);
  for (const std::string_view name : kLast) {
    const std::string file(name);
    if (!unlink_at(directory.fd(), file)) empty(directory.fd(), file, moved);
  }
  remove_other(directory, moved);
}

// A supervisor writes the end of its command down, or tells why it did not begin it, and is gone a
// moment later, its lock with it.
bool lock_after_the_end(CommandDirectory& directory) {
  if (directory.lock()) return true;
  if (directory.has("supervisor") && !directory.has("exit.json")) return false;
  constexpr unsigned kSeconds = 5;
  return directory.wait_for_lock(kSeconds);
}

}  // namespace

void empty_inner(const CommandDirectory& directory, const std::string& name) {
  const Fd inner = open_inner(directory.fd(), name);
  if (inner.get() >= 0 && names_in(inner.get(), name).empty()) return;
  std::size_t moved = 0;
  empty(directory.fd(), name, moved);
  // What was moved up, and moves up what it has itself. Only this process makes such names here.
  for (std::size_t next = 1; next <= moved; ++next) {
    empty(directory.fd(), "removed." + std::to_string(next), moved);
  }
}

int forget(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) return 0;
  CommandDirectory directory(path);
  if (!lock_after_the_end(directory)) {
    throw Refusal("The command in " + path +
                  " runs. Stop it and take its end before it is forgotten.");
  }
  remove_all(directory);
  if (rmdir(directory.path().c_str()) != 0) refuse("remove", directory.path());
  return 0;
}

}  // namespace tiffany::supervisor

#include "world/held_open.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

namespace tiffany::world {
namespace {

struct Held {
  int fd;
  int users;
  bool close;
};

struct Table {
  std::mutex mutex;
  std::vector<Held> all;
  std::atomic<std::size_t> count{0};

  std::vector<Held>::iterator find(int fd) {
    return std::find_if(all.begin(), all.end(), [fd](const Held& each) { return each.fd == fd; });
  }
};

// Never destroyed: a thread that was abandoned may come here while the program ends.
Table& table() noexcept {
  static auto* const the_one = new Table;
  return *the_one;
}

}  // namespace

void hold_open(int fd) noexcept {
  Table& held = table();
  const std::lock_guard lock(held.mutex);
  const auto found = held.find(fd);
  if (found != held.all.end()) {
    ++found->users;
    return;
  }
  held.all.push_back(Held{fd, 1, false});
  held.count.store(held.all.size());
}

void let_go(int fd) noexcept {
  Table& held = table();
  const std::lock_guard lock(held.mutex);
  const auto found = held.find(fd);
  if (--found->users > 0) return;
  // Closed and erased under one lock: nobody finds the number both free and held.
  if (found->close) ::close(fd);
  held.all.erase(found);
  held.count.store(held.all.size());
}

bool close_later(int fd) noexcept {
  Table& held = table();
  if (held.count.load() == 0) return false;
  const std::lock_guard lock(held.mutex);
  const auto found = held.find(fd);
  if (found == held.all.end()) return false;
  found->close = true;
  return true;
}

}  // namespace tiffany::world

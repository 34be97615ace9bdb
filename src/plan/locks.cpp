#include "tiffany/plan/locks.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/descriptor.hpp"
#include "tiffany/io/directory.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::plan {
namespace {

// How often somebody who waits looks whether the holder was killed.
constexpr std::chrono::seconds kLook{5};

std::optional<LockHolder> holder_in(const std::string& path) {
  WorldFiles& files = World::current().files();
  const int file = files.open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return std::nullopt;
  if (file < 0) throw_io_error("open", path);
  const Descriptor owned(file);
  std::array<char, 4096> room{};
  const ssize_t size = files.read(file, room.data(), room.size());
  if (size < 0) throw_io_error("read", path);
  try {
    return from_json<LockHolder>(std::string_view(room.data(), static_cast<std::size_t>(size)));
  } catch (const Error& error) {
    throw Error(Errc::command_damaged,
                "The file " + path + " of a lock is damaged: " + error.what() +
                    " Remove it when no command runs that may hold the lock.");
  }
}

}  // namespace

// A ticket in the queue of a lock, until this goes.
class Locks::Queued {
 public:
  Queued(Entry& entry, Ticket& ticket) : entry_(entry), ticket_(ticket) {
    entry_.waiting.push_back(&ticket);
  }
  ~Queued() {
    std::erase(entry_.waiting, &ticket_);
    if (!entry_.holder && !entry_.waiting.empty()) entry_.waiting.front()->told.set();
  }
  Queued(const Queued&) = delete;
  Queued& operator=(const Queued&) = delete;

 private:
  Entry& entry_;
  Ticket& ticket_;
};

Locks::Entry& Locks::entry_of(const std::string& name) {
  const auto [at, fresh] = entries_.try_emplace(name);
  if (!fresh || directory_.empty()) return at->second;
  try {
    at->second.holder = holder_in(path_of(name));
  } catch (...) {
    entries_.erase(at);
    throw;
  }
  return at->second;
}

std::optional<LockHolder> Locks::holder_of(const std::string& name) {
  return entry_of(name).holder;
}

Task<bool> Locks::acquire(std::vector<std::string> names, LockHolder holder) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool got = co_await wait(names[i], holder);
    if (got) continue;
    names.resize(i);
    co_await release(std::move(names), holder.command);
    co_return false;
  }
  co_return true;
}

Task<bool> Locks::wait(std::string name, LockHolder holder) {
  Entry& entry = entry_of(name);
  if (withdrawn_.count(holder.command) != 0) co_return false;
  if (entry.holder && entry.holder->command == holder.command) co_return true;
  if (!entry.holder && entry.waiting.empty()) {
    co_await take(std::move(name), std::move(holder));
    co_return true;
  }
  Ticket ticket(holder);
  const Queued queued(entry, ticket);
  for (;;) {
    if (entry.holder && entry.holder->command == holder.command) co_return true;
    if (ticket.withdrawn) co_return false;
    const bool first = entry.waiting.front() == &ticket;
    const bool gone = entry.holder && live && !live(entry.holder->task);
    if (first && (gone || !entry.holder)) {
      co_await take(std::move(name), std::move(holder));
      co_return true;
    }
    static_cast<void>(co_await within(kLook, ticket.told.wait()));
    ticket.told.reset();
  }
}

Task<void> Locks::take(std::string name, LockHolder holder) {
  Entry& entry = entry_of(name);
  const std::optional<LockHolder> before = std::exchange(entry.holder, std::move(holder));
  try {
    co_await write_down(name);
  } catch (const Error&) {
    entry.holder = before;
    throw;
  }
}

Task<void> Locks::release(std::vector<std::string> names, Uuid command) {
  withdrawn_.erase(command);
  for (const std::string& name : names) {
    const Entry& entry = entry_of(name);
    if (entry.holder && entry.holder->command == command) co_await hand_on(name);
  }
}

// The next one writes itself down: until then the lock is nobody's.
Task<void> Locks::hand_on(std::string name) {
  if (!directory_.empty()) {
    co_await remove_file(path_of(name));
    co_await sync_directory(directory_);
  }
  Entry& entry = entry_of(name);
  entry.holder.reset();
  if (!entry.waiting.empty()) entry.waiting.front()->told.set();
}

Task<void> Locks::write_down(std::string name) {
  if (directory_.empty()) co_return;
  if (World::current().files().make_directory(directory_.c_str()) != 0 && errno != EEXIST) {
    throw_io_error("make", directory_);
  }
  const std::string text = to_json(*entry_of(name).holder);
  const std::string draft = path_of(name) + ".new";
  {
    const File file = co_await open_file(draft, FileMode::truncate);
    co_await file.write_at(0, text);
    co_await file.sync();
  }
  co_await rename_file(draft, path_of(name));
  co_await sync_directory(directory_);
}

void Locks::withdraw(const Uuid& command) {
  bool found = false;
  for (auto& [name, entry] : entries_) {
    for (Ticket* const ticket : entry.waiting) {
      if (ticket->holder.command != command) continue;
      ticket->withdrawn = found = true;
      ticket->told.set();
    }
  }
  if (!found) withdrawn_[command] = true;
}

std::vector<LockWait> Locks::waits_of(const Uuid& task) const {
  std::vector<LockWait> all;
  for (const auto& [name, entry] : entries_) {
    for (const Ticket* const ticket : entry.waiting) {
      if (ticket->holder.task == task) all.push_back({name, ticket->holder.unit, entry.holder});
    }
  }
  return all;
}

std::string Locks::wait_of(const Uuid& command) const {
  for (const auto& [name, entry] : entries_) {
    for (const Ticket* const ticket : entry.waiting) {
      if (ticket->holder.command != command) continue;
      std::string text = "waits for the lock \"" + name + "\"";
      if (!entry.holder) return text;
      return text + ", which the step \"" + entry.holder->unit + "\" of the task " +
             entry.holder->task.text() + " has";
    }
  }
  return "";
}

}  // namespace tiffany::plan

// Named locks over all plans of a program: of the steps with the same name in `locks`, one runs at
// a time, whichever plans they are of.
//
//   plan::Locks locks("state/locks");
//   co_await locks.acquire({"database", "disk"}, holder);   // in the order in which they ask
//   ...
//   co_await locks.release({"database", "disk"}, holder.command);
//
// A lock belongs to a command. It is written down before acquire() returns, in a file for each
// lock: when the program is killed, the command goes on and has the lock, and the next program
// knows. acquire() by the same command gives what it has already, and release() of what it has not
// does nothing, so both may be repeated after a crash.
//
// Several locks are taken in the order of their names, whatever the order in the plan: two commands
// never wait for each other. Whoever holds a lock must not ask for another one.
//
// Thread safety: none; of one scheduler.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/sync/event.hpp"

namespace tiffany::plan {

struct LockHolder {
  Uuid task{};
  std::string unit{};
  Uuid command{};
};
TIFFANY_JSON(LockHolder, task, unit, command);

// A step that waits for a lock, and the one that has it; none: the lock is on its way to the next.
struct LockWait {
  std::string lock;
  std::string unit;
  std::optional<LockHolder> holder;
};

class Locks {
 public:
  // The directory is made with the first lock. Empty: in memory only; then a command that outlives
  // its program keeps no lock.
  explicit Locks(std::string directory = {}) : directory_(std::move(directory)) {}

  // Whether a task can still give back what it holds; without it every task can. A lock of one that
  // cannot, because somebody has killed it, goes to the next that waits.
  std::function<bool(const Uuid& task)> live;

  // True: all of them are held. False: withdraw() was called, and none is.
  // Cancel. Before start: nothing is taken. While parked: the wait is given up; locks that the
  // command has stay with it. After completion: they are held.
  Task<bool> acquire(std::vector<std::string> names, LockHolder holder);
  // To the next that waits. Cancel: some may be released; release them again.
  Task<void> release(std::vector<std::string> names, Uuid command);
  // Ends the wait of a command, now or when it begins to wait.
  void withdraw(const Uuid& command);

  // "waits for the lock "disk", which the step "copy" of task 4711... has"; empty: does not wait.
  std::string wait_of(const Uuid& command) const;
  std::optional<LockHolder> holder_of(const std::string& name);
  // All waits of a task, by the names of locks.
  std::vector<LockWait> waits_of(const Uuid& task) const;

 private:
  struct Ticket {
    explicit Ticket(LockHolder who) : holder(std::move(who)) {}
    LockHolder holder;
    ManualResetEvent told;
    bool withdrawn = false;
  };
  struct Entry {
    std::optional<LockHolder> holder;
    std::deque<Ticket*> waiting;
  };
  class Queued;

  Entry& entry_of(const std::string& name);
  Task<void> take(std::string name, LockHolder holder);
  Task<bool> wait(std::string name, LockHolder holder);
  Task<void> hand_on(std::string name);
  Task<void> write_down(std::string name);
  std::string path_of(const std::string& name) const { return directory_ + "/" + name; }

  std::string directory_;
  std::map<std::string, Entry> entries_;
  std::map<Uuid, bool> withdrawn_;
};

}  // namespace tiffany::plan

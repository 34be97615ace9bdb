// What a world in memory consists of: a table of descriptors, objects that they name, and the
// operations that wait for these. Internal.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/random.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/core/operation.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::world::memory {

using Kind = Operation::Kind;

class MemoryReactor;
class State;

// Answers as a system call does: -1 and errno instead of a negative number.
template <class T>
T with_errno(T result) noexcept {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

// What one or more descriptors name: one end of a pipe, a socket, an open file.
class Object : public std::enable_shared_from_this<Object> {
 public:
  explicit Object(State& of) noexcept : state(of) {}
  virtual ~Object();
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  // The result of an operation, or -EAGAIN when it has to wait. A write that has to wait may have
  // gone in part (op.progress).
  virtual int attempt(Operation& op) = 0;
  // For what it is ready now: POLLIN, POLLOUT, POLLHUP, POLLERR.
  virtual int ready() const noexcept = 0;
  // The last descriptor is gone.
  virtual void closed() {}

  struct Waiter {
    Operation* op;
    MemoryReactor* reactor;
  };
  std::vector<Waiter> in;  // in the order in which they came
  std::vector<Waiter> out;
  std::vector<Waiter>& queue(const Operation& op) noexcept;

  State& state;
  int descriptors = 0;
  bool touched = false;  // is in State::touched_
};

using ObjectPtr = std::shared_ptr<Object>;

// Bytes on their way from a writer to a reader.
class Buffer {
 public:
  bool empty() const noexcept { return at_ == bytes_.size(); }
  std::size_t size() const noexcept { return bytes_.size() - at_; }
  void push(const void* from, std::size_t count) {
    bytes_.append(static_cast<const char*>(from), count);
  }
  std::size_t copy(void* to, std::size_t count) const noexcept;
  void drop(std::size_t count) noexcept;
  void clear() noexcept { drop(size()); }

 private:
  std::string bytes_;
  std::size_t at_ = 0;
};

class State {
 public:
  explicit State(MemoryWorldOptions options);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // ---- Descriptors ----

  // The lowest number that is free, from kFirst on.
  int add(ObjectPtr object);
  ObjectPtr find(int fd) const noexcept;  // null: there is none
  template <class T>
  std::shared_ptr<T> find_as(int fd) const noexcept {
    return std::dynamic_pointer_cast<T>(find(fd));
  }
  void close(int fd) noexcept;
  std::size_t open_descriptors() const noexcept;

  // ---- Operations ----

  // Ends the operations on a descriptor that wait.
  void end_waits(int fd, int result) noexcept;
  // Something has changed that operations on the object may wait for; settle() tries them again.
  void touch(Object* object);
  void forget(Object* object) noexcept;
  void settle();
  // How much of `there` a read gives: all of it, unless a seed draws less.
  std::size_t part_of(std::size_t there) noexcept;
  bool coin() noexcept { return chance_ && chance_->below(2) == 0; }
  std::size_t draw(std::size_t bound) noexcept {
    return chance_ ? static_cast<std::size_t>(chance_->below(bound)) : 0;
  }

  MemoryWorld* world = nullptr;
  const std::optional<std::uint64_t> seed;
  const std::int64_t wall_clock_us;
  const int process_id;
  const std::size_t buffer;
  Random entropy;
  Time now{};
  std::size_t reactors = 0;
  std::map<std::string, std::vector<std::string>> hosts;  // name: IP addresses

  // The three sides of the world, made by the files of the same names.
  std::unique_ptr<class Files> files;
  std::unique_ptr<class Sockets> sockets;
  std::unique_ptr<class Processes> processes;

 private:
  // No descriptor of the operating system has such a number: one that gets into the wrong world is
  // refused there.
  static constexpr int kFirst = 1 << 24;

  std::vector<ObjectPtr> table_;
  std::vector<Object*> touched_;
  std::optional<Random> chance_;
};

// The reactor of a scheduler in this world.
class MemoryReactor final : public Reactor {
 public:
  explicit MemoryReactor(State& state);
  ~MemoryReactor() override;

  Time now() override { return state_.now; }
  bool virtual_time() const noexcept override { return true; }
  void advance_to(Time time) override;
  void wait(std::optional<Time> until, Wakeup& wakeup) override;
  bool submit(Scheduler& scheduler, Operation& op) override;
  bool take_back(Operation& op) noexcept override;
  void drop(Operation& op) noexcept override;
  bool await_taken_back(Scheduler& scheduler) noexcept override;
  void collect(Scheduler& scheduler, bool busy) noexcept override;
  void closing(int fd) noexcept override { state_.end_waits(fd, -ECANCELED); }
  bool performs_operations() const noexcept override { return true; }
  // Only another scheduler in the same world can.
  bool hears_from_outside() const noexcept override { return state_.reactors > 1; }
  World& world() noexcept override { return *state_.world; }

  // It has its result, and done() comes with the next collect().
  void over(Operation& op, int result) noexcept;

 private:
  int perform(Operation& op);
  std::size_t pick() noexcept;
  bool leave_queue(Operation& op) noexcept;

  State& state_;
  std::unique_ptr<Reactor> clock_;    // how a thread sleeps until another wakes it
  std::vector<Operation*> finished_;  // also work for a thread, which collect() does
};

}  // namespace tiffany::world::memory

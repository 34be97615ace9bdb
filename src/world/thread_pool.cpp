#include "world/thread_pool.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <list>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "tiffany/world/io_error.hpp"
#include "world/backend.hpp"
#include "world/held_open.hpp"

namespace tiffany::world {
namespace {

using Kind = Operation::Kind;

// A thread costs a few kilobytes and about as long to start as one hand-over takes, so that it is
// kept for a pause between two bursts and not for much longer.
constexpr auto kIdle = std::chrono::seconds(5);
// How much a read moves at a time: enough that the copy and the lock do not count, and still in the
// caches of a core.
constexpr std::size_t kPiece = std::size_t{256} << 10;

bool contains(const OperationQueue& queue, const Operation& op) noexcept {
  for (const Operation* each = queue.first(); each != nullptr; each = each->next) {
    if (each == &op) return true;
  }
  return false;
}

// What can be left to its thread: it writes to nothing that belongs to the waiter, and it changes
// no file. So an open or a read that fails after it was left has lost nothing; what a function
// throws then is reported (BlockingWork::abandoned). A change is waited for: a program that gives
// up a lock, or writes the same place again, would otherwise be overtaken by a write that it has
// cancelled. A read where the file is moves the place and would lose bytes.
bool can_be_abandoned(const Operation& op) noexcept {
  if (op.kind == Kind::work) return !op.joined;
  return op.kind == Kind::open || (op.kind == Kind::read && op.offset >= 0);
}

// Signals are for the threads of the program, not for these.
class SignalsHeldBack {
 public:
  SignalsHeldBack() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsHeldBack() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsHeldBack(const SignalsHeldBack&) = delete;
  SignalsHeldBack& operator=(const SignalsHeldBack&) = delete;

 private:
  sigset_t before_;
};

struct Worker {
  std::thread thread;
  Operation* op = nullptr;  // what it works on; null when that was abandoned
  bool abandoned = false;   // written with both mutexes held, read with one of them
  int holds = -1;           // a descriptor that must stay open until it is done
  std::mutex memory;        // of the waiter, while a piece of a read is copied into it
  std::unique_ptr<std::byte[]> room;

  int read(int fd, std::byte* to, std::size_t size, std::size_t done, std::int64_t offset) noexcept;
};

int Worker::read(int fd, std::byte* to, std::size_t size, std::size_t done,
                 std::int64_t offset) noexcept {
  if (room == nullptr) room.reset(new (std::nothrow) std::byte[kPiece]);
  if (room == nullptr) return -ENOMEM;
  while (done < size) {
    const std::size_t piece = std::min(size - done, kPiece);
    const ssize_t got = ::pread(fd, room.get(), piece, offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return done > 0 ? static_cast<int>(done) : -errno;
    const std::lock_guard lock(memory);
    if (abandoned) return -ECANCELED;
    std::memcpy(to + done, room.get(), static_cast<std::size_t>(got));
    done += static_cast<std::size_t>(got);
    if (static_cast<std::size_t>(got) < piece) break;
  }
  return static_cast<int>(done);
}

}  // namespace

struct ThreadPool::State {
  std::mutex mutex;
  std::condition_variable work;  // something was queued, or the end has come
  std::condition_variable done;  // something is over
  OperationQueue queue;
  OperationQueue over;
  std::atomic<bool> any_over{false};
  std::list<Worker> workers;
  std::vector<std::thread> ended;  // threads that were idle for long, to be joined
  std::size_t most = 0;
  std::size_t queued = 0;
  std::size_t idle = 0;
  bool ending = false;
  Wakeup* wakeup = nullptr;

  void serve(Worker& me) noexcept;
  int work_on(Worker& me, Operation& op, std::unique_lock<std::mutex>& lock) noexcept;
  void report(Operation& op, int result) noexcept {
    op.result = result;
    over.push(op);
    any_over.store(true);
    done.notify_all();
  }
  Worker* worker_of(const Operation& op) noexcept {
    for (Worker& each : workers) {
      if (each.op == &op) return &each;
    }
    return nullptr;
  }
  void hold(Worker& worker, int fd) noexcept {
    if (fd < 0 || worker.holds >= 0) return;
    worker.holds = fd;
    hold_open(fd);
  }
  void abandon(Worker& worker) noexcept {
    hold(worker, worker.op->fd);
    const std::lock_guard lock(worker.memory);
    worker.op = nullptr;
    worker.abandoned = true;
  }
};

ThreadPool::ThreadPool(std::size_t most) : state_(std::make_shared<State>()) {
  state_->most = most;
}

ThreadPool::~ThreadPool() {
  std::vector<std::thread> to_join;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
    to_join.swap(state_->ended);
    for (Worker& worker : state_->workers) {
      if (worker.abandoned) {
        worker.thread.detach();
      } else {
        to_join.push_back(std::move(worker.thread));
      }
    }
  }
  state_->work.notify_all();
  for (std::thread& thread : to_join) thread.join();
}

void ThreadPool::set_wakeup(Wakeup& wakeup) noexcept { state_->wakeup = &wakeup; }

bool ThreadPool::any_over() const noexcept { return state_->any_over.load(); }

void ThreadPool::submit(Operation& op) {
  std::vector<std::thread> to_join;
  {
    State& state = *state_;
    const std::lock_guard lock(state.mutex);
    to_join.swap(state.ended);
    // An idle thread that has been woken for an earlier one still counts as idle.
    if (state.queued >= state.idle && state.workers.size() < state.most) {
      const SignalsHeldBack held_back;
      state.ended.reserve(state.most);
      Worker& worker = state.workers.emplace_back();
      try {
        worker.thread = std::thread([shared = state_, &worker] { shared->serve(worker); });
      } catch (const std::system_error& error) {
        state.workers.pop_back();
        // With threads there, they will come to it: the operation is late, and nothing is lost.
        if (state.workers.empty()) throw IoError(error.code().value(), "start", "a thread");
      }
    }
    state.queue.push(op);
    ++state.queued;
  }
  state_->work.notify_one();
  for (std::thread& thread : to_join) thread.join();
}

bool ThreadPool::take_back(Operation& op) noexcept {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  if (contains(state.queue, op)) {
    state.queue.remove(op);
    --state.queued;
    return true;
  }
  Worker* const worker = state.worker_of(op);
  if (worker == nullptr || !can_be_abandoned(op)) return false;
  state.abandon(*worker);
  return true;
}

void ThreadPool::drop(Operation& op) noexcept {
  if (take_back(op)) return;
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  state.done.wait(lock, [&] { return contains(state.over, op); });
  state.over.remove(op);
}

void ThreadPool::closing(int fd) noexcept {
  State& state = *state_;
  const std::lock_guard lock(state.mutex);
  for (Operation* op = state.queue.first(); op != nullptr;) {
    Operation* const next = op->next;
    if (op->fd == fd) {
      state.queue.remove(*op);
      --state.queued;
      state.report(*op, -ECANCELED);
    }
    op = next;
  }
  for (Worker& worker : state.workers) {
    Operation* const op = worker.op;
    if (op == nullptr || op->fd != fd) continue;
    state.hold(worker, fd);
    if (!can_be_abandoned(*op)) continue;
    state.abandon(worker);
    state.report(*op, -ECANCELED);
  }
}

Operation* ThreadPool::next_over() noexcept {
  State& state = *state_;
  if (!state.any_over.load()) return nullptr;
  const std::lock_guard lock(state.mutex);
  Operation* const op = state.over.pop();
  if (op == nullptr) state.any_over.store(false);
  return op;
}

// Gives the result, with the lock held again. What the thread needs of the operation is copied
// first, because the waiter may leave and take the operation along.
int ThreadPool::State::work_on(Worker& me, Operation& op,
                               std::unique_lock<std::mutex>& lock) noexcept {
  int result = 0;
  if (!can_be_abandoned(op)) {
    lock.unlock();
    result = perform(op);
    lock.lock();
    return result;
  }
  const Kind kind = op.kind;
  if (kind == Kind::read) {
    auto* const to = static_cast<std::byte*>(op.memory);
    const int fd = op.fd;
    const std::size_t size = op.size;
    const std::size_t progress = op.progress;
    const std::int64_t offset = op.offset;
    lock.unlock();
    result = me.read(fd, to, size, progress, offset);
    lock.lock();
    return result;
  }
  if (kind == Kind::open) {
    Operation copy(kind, -1, nullptr);
    std::string path;
    try {
      path = op.path();
    } catch (const std::bad_alloc&) {
      return -ENOMEM;
    }
    copy.memory = path.data();
    copy.flags = op.flags;
    copy.size = op.size;
    lock.unlock();
    result = perform(copy);
    lock.lock();
    if (me.abandoned && result >= 0) ::close(result);
    return result;
  }
  std::shared_ptr<BlockingWork> kept = static_cast<BlockingWork*>(op.memory)->shared_from_this();
  lock.unlock();
  result = kept->run();
  lock.lock();
  if (me.abandoned) {
    lock.unlock();  // the function, its arguments and its result end here and now
    kept->abandoned();
  }
  kept.reset();
  if (!lock.owns_lock()) lock.lock();
  return result;
}

void ThreadPool::State::serve(Worker& me) noexcept {
  std::unique_lock lock(mutex);
  for (;;) {
    ++idle;
    work.wait_for(lock, kIdle, [this] { return ending || !queue.empty(); });
    --idle;
    Operation* const op = queue.pop();
    if (op == nullptr) {
      if (ending) return;
      ended.push_back(std::move(me.thread));  // there is room for it
      workers.remove_if([&me](const Worker& each) { return &each == &me; });
      return;
    }
    --queued;
    me.op = op;
    const int result = work_on(me, *op, lock);
    if (me.holds >= 0) let_go(std::exchange(me.holds, -1));
    me.op = nullptr;
    if (std::exchange(me.abandoned, false)) {
      if (ending) return;  // and this thread is nobody's any more
      continue;
    }
    report(*op, result);
    wakeup->notify();
  }
}

}  // namespace tiffany::world

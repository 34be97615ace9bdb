#include "tiffany/io/pressure.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <new>
#include <unordered_set>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany {

namespace {

// All gates. A Descriptor often outlives its gate, and may only look at one that still exists.
class Gates {
 public:
  static Gates& all() {
    static Gates gates;
    return gates;
  }
  void add(const Pressure* gate) {
    const std::lock_guard lock(mutex_);
    gates_.insert(gate);
  }
  void remove(const Pressure* gate) noexcept {
    const std::lock_guard lock(mutex_);
    gates_.erase(gate);
  }
  bool has(const Pressure* gate) noexcept {
    const std::lock_guard lock(mutex_);
    return gates_.contains(gate);
  }

 private:
  std::mutex mutex_;
  std::unordered_set<const Pressure*> gates_;
};

// What is being thrown, as the errno that the task of the operation gets: the error is not one of
// the task that opens the gate. What has no number goes to the log with its sentence.
int number_of_failure(Scheduler& scheduler) noexcept {
  try {
    throw;
  } catch (const IoError& error) {
    return error.number();
  } catch (const std::exception& error) {
    scheduler.log(error.what());
    return dynamic_cast<const std::bad_alloc*>(&error) != nullptr ? ENOMEM : EOPNOTSUPP;
  }
}

}  // namespace

Pressure::Pressure(std::size_t low, std::size_t high) : low_(low), high_(high) {
  if (low >= high) {
    throw Error(Errc::bad_argument, "The marks of a Pressure are " + std::to_string(low) + " and " +
                                        std::to_string(high) +
                                        "; the low one must be below the high one.");
  }
  Gates::all().add(this);
}

// Who is still held here would wait for ever.
Pressure::~Pressure() {
  Gates::all().remove(this);
  Scheduler* const scheduler = Scheduler::current();
  while (Operation* operation = waiting_.pop()) {
    operation->result = -ECANCELED;
    if (scheduler != nullptr) operation->done(*scheduler, *operation);
  }
}

void Pressure::add(std::size_t amount) noexcept {
  level_ += amount;
  if (closed_ || level_ < high_) return;
  closed_ = true;
  ++closings_;
}

void Pressure::remove(std::size_t amount) {
  level_ -= std::min(level_, amount);
  if (closed_ && level_ <= low_) open();
}

void Pressure::open() {
  Scheduler& scheduler = Scheduler::require("Opening a Pressure");
  closed_ = false;
  // Those that were there: one that goes on may close the gate, and another may come.
  OperationQueue those = std::exchange(waiting_, OperationQueue());
  waiting_count_ = 0;
  while (Operation* operation = those.pop()) {
    bool over = operation->kind == Operation::Kind::work;  // it only waited for the gate
    try {
      over = over || scheduler.reactor().submit(scheduler, *operation);
    } catch (...) {
      operation->result = -number_of_failure(scheduler);
      over = true;
    }
    if (over) operation->done(scheduler, *operation);
  }
}

void Pressure::hold(Operation& operation) noexcept {
  waiting_.push(operation);
  ++held_;
  ++waiting_count_;
}

void Pressure::let_go(Operation& operation) noexcept {
  waiting_.remove(operation);
  --waiting_count_;
}

void Pressure::closing(Pressure* gate, std::uint32_t incarnation) noexcept {
  Scheduler* const scheduler = Scheduler::current();
  if (scheduler != nullptr && Gates::all().has(gate)) gate->end_held(*scheduler, incarnation);
}

void Pressure::end_held(Scheduler& scheduler, std::uint32_t incarnation) noexcept {
  for (Operation* operation = waiting_.first(); operation != nullptr;) {
    Operation* const next = operation->next;
    if (operation->incarnation == incarnation) {
      let_go(*operation);
      operation->result = -ECANCELED;
      operation->done(scheduler, *operation);
    }
    operation = next;
  }
}

Pressure::Pass::Pass(Pressure& gate) noexcept
    : Operation(Kind::work, -1, &Pass::on_done), gate_(gate) {}

Answer Pressure::Pass::start(Scheduler& scheduler, TaskRecord& task) noexcept {
  task_ = &task;
  if (!gate_.closed() && !scheduler.cancel_pending()) return Answer::now;
  gate_.hold(*this);
  return Answer::parked;
}

void Pressure::Pass::withdraw(TaskRecord&) noexcept { gate_.let_go(*this); }

void Pressure::Pass::on_done(Scheduler& scheduler, Operation& operation) noexcept {
  auto& call = static_cast<Pass&>(operation);
  call.wake(scheduler, *call.task_);
}

std::string Pressure::Pass::describe() const {
  return "the pressure to fall from " + std::to_string(gate_.level()) + " to " +
         std::to_string(gate_.low_);
}

}  // namespace tiffany

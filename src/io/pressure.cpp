#include "tiffany/io/pressure.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "tiffany/base/error.hpp"

namespace tiffany {

Pressure::Pressure(std::size_t low, std::size_t high) : low_(low), high_(high) {
  if (low < high) return;
  throw Error(Errc::bad_argument, "The marks of a Pressure are " + std::to_string(low) + " and " +
                                      std::to_string(high) +
                                      "; the low one must be below the high one.");
}

// Who is still held here would wait for ever.
Pressure::~Pressure() {
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
    } catch (const std::bad_alloc&) {
      operation->result = -ENOMEM;
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
  scheduler.wake(*static_cast<Pass&>(operation).task_);
}

std::string Pressure::Pass::describe() const {
  return "the pressure to fall from " + std::to_string(gate_.level()) + " to " +
         std::to_string(gate_.low_);
}

}  // namespace tiffany

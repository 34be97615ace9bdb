#include "tiffany/core/task_record.hpp"

#include <cstdio>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/task_cancelled.hpp"

namespace tiffany {

TaskRecord::Extras& TaskRecord::extras() {
  if (extras_ == nullptr) extras_ = new Extras();
  return *extras_;
}

void TaskRecord::ended(Scheduler&) noexcept {}

State TaskRecord::suspended_or_running() const noexcept {
  const Scheduler* driven = Scheduler::current();
  return driven != nullptr && driven->running() == this ? State::running : State::suspended;
}

std::uint64_t TaskRecord::steps() const noexcept {
  if (Scheduler* scheduler = Scheduler::owner(*this)) scheduler->count_steps();
  return steps_;
}

std::string_view TaskRecord::name() const noexcept {
  return extras_ != nullptr ? std::string_view(extras_->name) : std::string_view();
}

void TaskRecord::set_name(std::string_view name) { extras().name = name; }

std::uint64_t TaskRecord::chain_below() const noexcept {
  return extras_ != nullptr ? extras_->chain_below : 0;
}

CancelReasonPtr TaskRecord::cancel_reason() const noexcept {
  return extras_ != nullptr ? extras_->cancel : nullptr;
}

std::string TaskRecord::describe() const {
  std::string out = "task " + id_.text();
  if (!name().empty()) out += " \"" + std::string(name()) + "\"";
  return out;
}

std::exception_ptr TaskRecord::error() const {
  if (state_ == State::failed) {
    return *std::launder(reinterpret_cast<const std::exception_ptr*>(storage_));
  }
  if (state_ == State::cancelled) {
    return std::make_exception_ptr(TaskCancelled(id_, describe(), cancel_reason()));
  }
  return nullptr;
}

void TaskRecord::dispose() noexcept {
  constexpr std::uint8_t kRest = kReportFailure | kHoldsValue | kOrphan;
  if ((flags_ & kRest) != 0 || extras_ != nullptr || state_ == State::failed) [[unlikely]]
    return dispose_of_rest();
  give_slot_back();
}

inline void TaskRecord::give_slot_back() noexcept {
  scope_->scheduler().tasks_.give_back(reinterpret_cast<std::byte*>(this), id_);
}

void TaskRecord::dispose_of_rest() noexcept {
  const bool orphan = has(kOrphan);
  if (has(kReportFailure) && !observed_) {
    if (orphan) {
      std::fprintf(stderr, "%s failed and nobody looked at the error\n", describe().c_str());
    } else {
      scope_->scheduler().report_failure(*this);
    }
  }
  if (has(kHoldsValue)) drop_value();
  if (state_ == State::failed) unstore<std::exception_ptr>();
  delete extras_;
  if (orphan) {
    TaskTable::give_back_orphan(*this);
  } else {
    give_slot_back();
  }
}

}  // namespace tiffany

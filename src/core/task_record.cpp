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

std::string_view TaskRecord::name() const noexcept {
  return extras_ != nullptr ? std::string_view(extras_->name) : std::string_view();
}

void TaskRecord::set_name(std::string_view name) { extras().name = name; }

CancelReasonPtr TaskRecord::cancel_reason() const noexcept {
  return extras_ != nullptr ? extras_->cancel : nullptr;
}

AsyncTracePtr TaskRecord::trace() const noexcept {
  return extras_ != nullptr ? extras_->trace : nullptr;
}

std::string TaskRecord::describe() const { return describe_task(id_, name()); }

std::string describe_task(TaskId id, std::string_view name) {
  std::string out = "task " + id.text();
  if (!name.empty()) out += " \"" + std::string(name) + "\"";
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
  const bool orphan = has(kOrphan);
  if (has(kReportFailure) && !observed_) {
    if (orphan) {
      std::fprintf(stderr, "%s failed and nobody looked at the error\n", describe().c_str());
    } else {
      scope_->scheduler().report_failure(*this);
    }
  }
  if (state_ == State::completed) drop_value();
  if (state_ == State::failed) unstore<std::exception_ptr>();
  delete extras_;
  if (orphan) {
    TaskTable::give_back_orphan(*this);
  } else {
    scope_->scheduler().tasks_.give_back(reinterpret_cast<std::byte*>(this), id_);
  }
}

}  // namespace tiffany

#include "tiffany/core/task_record.hpp"

#include <cstdio>
#include <memory>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/task_cancelled.hpp"

namespace tiffany {

TaskRecord::Extras& TaskRecord::extras() {
  if (extras_ == 0 || tag() != kExtrasTag) {
    auto made = std::make_unique<Extras>();
    if (tag() == kNameTag) {
      made->name = untagged<SharedName>()->text();
      untagged<SharedName>()->release();
    }
    if (tag() == kHeritageTag) made->heritage = Ref<Heritage>::adopt(untagged<Heritage>());
    if (tag() == kLastWordsTag) made->last_words = Ref<LogLink>::adopt(untagged<LogLink>());
    extras_ = reinterpret_cast<std::uintptr_t>(made.release());
  }
  return *untagged<Extras>();
}

void TaskRecord::set_heritage(Ref<Heritage> heritage) noexcept {
  heritage ? set(kHasHeritage) : clear(kHasHeritage);
  if (tag() == kNameTag) {
    if (!heritage) return;
    try {
      extras();
    } catch (const std::bad_alloc&) {
      untagged<SharedName>()->release();  // what it inherits matters more than its name
      extras_ = 0;
    }
  }
  if (Extras* own = own_extras()) {
    own->heritage = std::move(heritage);
    return;
  }
  const auto old = Ref<Heritage>::adopt(untagged<Heritage>());
  Heritage* given = heritage.detach();
  extras_ = given != nullptr ? reinterpret_cast<std::uintptr_t>(given) | kHeritageTag : 0;
}

Heritage& TaskRecord::own_heritage(Arena& arena) {
  // Only destructors that run after its end come here with last words spoken. Without memory, the
  // caller hears of it here.
  if (tag() == kLastWordsTag || tag() == kNameTag) extras();
  Heritage* present = heritage();
  if (present == nullptr) {
    set_heritage(Ref<Heritage>::adopt(make_in<Heritage>(arena)));
  } else if (present->refs() > 1) {
    set_heritage(Ref<Heritage>::adopt(make_in<Heritage>(arena, *present)));
  }
  return *heritage();
}

LogLink* TaskRecord::last_words() const noexcept {
  if (tag() == kLastWordsTag) return untagged<LogLink>();
  const Extras* own = own_extras();
  return own != nullptr ? own->last_words.get() : nullptr;
}

void TaskRecord::inherit(const TaskRecord& parent) noexcept {
  Heritage* shared = parent.heritage();
  shared->add_ref();
  extras_ = reinterpret_cast<std::uintptr_t>(shared) | kHeritageTag;
  set(kHasHeritage);
}

void TaskRecord::leave_heritage(TaskState state) noexcept {
  Heritage* left = heritage();
  // A task that did not write to its log still has the one it inherited.
  const bool wrote = left->log && left->log->owner() == id_;
  if (!wrote && left->refs() > 1 && tag() == kHeritageTag) [[likely]] {
    left->release();  // the most frequent end: nothing told, and others go on with it
    extras_ = 0;
    clear(kHasHeritage);
    return;
  }
  Ref<LogLink> told;
  if (wrote && state != TaskState::cancelled) told = left->log->told();
  // What goes may, in its destructors, write to the store once more; that goes the same way.
  while (has(kHasHeritage)) set_heritage(Ref<Heritage>());
  if (!told) return;
  told_ = true;
  if (Extras* own = own_extras()) {
    own->last_words = std::move(told);
  } else {
    extras_ = reinterpret_cast<std::uintptr_t>(told.detach()) | kLastWordsTag;
  }
}

// Not inlined, so that the many records that have none do not pay for it.
[[gnu::noinline]] void TaskRecord::drop_extras() noexcept {
  while (has(kHasHeritage)) set_heritage(Ref<Heritage>());
  if (tag() == kLastWordsTag) {
    untagged<LogLink>()->release();
  } else if (tag() == kNameTag) {
    untagged<SharedName>()->release();
  } else {
    delete untagged<Extras>();
  }
}

void TaskRecord::ended(Scheduler&) noexcept {}

TaskState TaskRecord::store_error(std::exception_ptr error) noexcept {
  try {
    std::rethrow_exception(error);
  } catch (const Cancelled&) {
    // Its own cancellation. One that strayed here from elsewhere is an error like any other.
    if (cancel_reason() != nullptr) return TaskState::cancelled;
  } catch (...) {
  }
  new (storage_) std::exception_ptr(std::move(error));
  return TaskState::failed;
}

TaskState TaskRecord::suspended_or_running() const noexcept {
  const Scheduler* driven = Scheduler::current();
  return driven != nullptr && driven->runs_as_suspended(*this) ? TaskState::running
                                                               : TaskState::suspended;
}

std::uint64_t TaskRecord::steps() const noexcept {
  if (Scheduler* scheduler = Scheduler::owner(*this)) scheduler->count_steps();
  return steps_;
}

std::string_view TaskRecord::name() const noexcept {
  if (tag() == kNameTag) return untagged<SharedName>()->text();
  const Extras* own = own_extras();
  return own != nullptr ? std::string_view(own->name) : std::string_view();
}

void TaskRecord::set_name(std::string_view name) { extras().name = name; }
void TaskRecord::set_name(const Ref<SharedName>& name) {
  if (extras_ != 0) return set_name(name->text());
  name->add_ref();
  extras_ = reinterpret_cast<std::uintptr_t>(name.get()) | kNameTag;
}

std::uint64_t TaskRecord::chain_below() const noexcept {
  const Extras* own = own_extras();
  return own != nullptr ? own->chain_below : 0;
}

CancelReasonPtr TaskRecord::cancel_reason() const noexcept {
  const CancelReasonPtr* reason = own_reason();
  return reason != nullptr ? *reason : nullptr;
}

void TaskRecord::keep_reason(CancelReasonPtr reason) noexcept {
  try {
    extras().cancel = std::move(reason);
  } catch (const std::bad_alloc&) {
    unrecorded_ = (static_cast<std::uint8_t>(reason->cause) + 1) & 15;
  }
}

void TaskRecord::keep_trace(AsyncTracePtr trace) noexcept {
  try {
    extras().trace = std::move(trace);
  } catch (const std::bad_alloc&) {
    // The error matters more than its trace.
  }
}

AsyncTracePtr TaskRecord::trace() const noexcept {
  const Extras* own = own_extras();
  return own != nullptr ? own->trace : nullptr;
}

std::string TaskRecord::describe() const { return describe_task(id_, name()); }

std::string describe_task(TaskId id, std::string_view name) {
  std::string out = "task " + id.text();
  if (!name.empty()) out += " \"" + std::string(name) + "\"";
  return out;
}

std::exception_ptr TaskRecord::error() const {
  if (state_ == TaskState::failed) {
    return *std::launder(reinterpret_cast<const std::exception_ptr*>(storage_));
  }
  if (state_ == TaskState::cancelled) {
    return std::make_exception_ptr(TaskCancelled(id_, describe(), cancel_reason()));
  }
  return nullptr;
}

void TaskRecord::dispose() noexcept {
  constexpr std::uint8_t kRest = kReportFailure | kHoldsValue | kOrphan;
  if ((flags_ & kRest) != 0 || extras_ != 0 || state_ == TaskState::failed) [[unlikely]]
    return dispose_of_rest();
  give_slot_back();
}

inline void TaskRecord::give_slot_back() noexcept {
  scope_->scheduler().tasks_.give_back(reinterpret_cast<std::byte*>(this), id_);
}

void TaskRecord::report_failure_briefly() const noexcept {
  std::fprintf(stderr, "task #%u", id_.slot());
  if (id_.generation() > 1) std::fprintf(stderr, ".%u", id_.generation());
  const std::string_view called = name();
  if (!called.empty()) {
    std::fprintf(stderr, " \"%.*s\"", static_cast<int>(called.size()), called.data());
  }
  std::fputs(" failed and nobody looked at the error\n", stderr);
}

void TaskRecord::dispose_of_rest() noexcept {
  const bool orphan = has(kOrphan);
  if (has(kReportFailure) && !observed_) {
    if (orphan) {
      report_failure_briefly();
    } else {
      scope_->scheduler().reports().unseen(*this);
    }
  }
  if (has(kHoldsValue)) drop_value();
  if (state_ == TaskState::failed) unstore<std::exception_ptr>();
  if (extras_ != 0) [[unlikely]]
    drop_extras();
  if (orphan) {
    TaskTable::give_back_orphan(*this);
  } else {
    give_slot_back();
  }
}

}  // namespace tiffany

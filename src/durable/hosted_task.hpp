// What a host knows of one task.
#pragma once

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "durable/excerpt.hpp"
#include "durable/flow_state.hpp"
#include "tiffany/sync/event.hpp"

namespace tiffany {

struct HostCore::HostedTask {
  explicit HostedTask(wal::StoredTask& of) : log(of) {}
  // Of a task in the archive, which the store does not list.
  explicit HostedTask(std::unique_ptr<wal::StoredTask> of) : own(std::move(of)), log(*own) {}
  std::unique_ptr<wal::StoredTask> own;
  wal::StoredTask& log;
  const DurableType* type = nullptr;
  std::string type_name;
  int version = 0;
  Uuid parent;
  DurableStatus status = DurableStatus::running;
  std::string detail;
  std::unique_ptr<FlowState> flow;  // while its code is under way
  Handle<void> task;
  ManualResetEvent done;
  std::exception_ptr broken;
  // It had ended when the log was opened, or is in the archive: its result, or why it has none, is
  // not in `detail` but is read when somebody asks, see end_of().
  bool unread = false;
  std::string spawn;           // its first record, of a task in the archive
  std::string end;             // and the record of its end
  bool promises_read = false;  // HostCore::at_rest_ has what its log says of its promises
  int changing = 0;            // it is being started, paused, resumed, retried, killed, or ends
  int held = 0;                // so many look at it across a suspension: it stays where it is
};

class HostCore::Held {
 public:
  explicit Held(HostedTask& entry) noexcept : entry_(entry) { ++entry_.held; }
  ~Held() { --entry_.held; }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  HostedTask& entry_;
};

// Marks a task that somebody changes, so that others wait with what they want from it.
class HostCore::Changing {
 public:
  Changing(HostedTask& entry, ManualResetEvent& changed) noexcept
      : entry_(entry), changed_(changed) {
    ++entry_.changing;
  }
  ~Changing() {
    if (--entry_.changing == 0) changed_.set();
  }
  Changing(const Changing&) = delete;
  Changing& operator=(const Changing&) = delete;

 private:
  HostedTask& entry_;
  ManualResetEvent& changed_;
};

// While a call from the step of one task waits for the steps of another to end.
class HostCore::StoppingNow {
 public:
  StoppingNow(HostCore& host, const HostedTask& of, bool with_children)
      : host_(host), of_(of), by_(host.caller()) {
    if (by_ != nullptr) host_.stopping_.push_back({by_, &of, with_children});
  }
  ~StoppingNow() {
    if (by_ == nullptr) return;
    for (auto each = host_.stopping_.begin(); each != host_.stopping_.end(); ++each) {
      if (each->of != &of_ || each->by != by_) continue;
      host_.stopping_.erase(each);
      return;
    }
  }
  StoppingNow(const StoppingNow&) = delete;
  StoppingNow& operator=(const StoppingNow&) = delete;

 private:
  HostCore& host_;
  const HostedTask& of_;
  const HostedTask* by_;  // null: the call is made outside of all steps
};

// Of a task that has ended.
inline DurableStatus status_at_end(const wal::StoredTask& task) noexcept {
  return task.failed      ? DurableStatus::failed
         : task.cancelled ? DurableStatus::cancelled
                          : DurableStatus::completed;
}

namespace detail {

// Lets the task of a host await the code of a durable one. Gives nothing when the code has ended at
// a checkpoint; its frames are destroyed with this object.
class RunDurable {
 public:
  RunDurable(Durable<std::string> code, FlowState& flow) noexcept
      : code_(std::move(code)), flow_(flow) {}

  using Call = AwaitTask<std::string, Durable<std::string>::promise_type>;
  class Await : private Call {
   public:
    Await(Call call, FlowState& flow) noexcept : Call(call), flow_(flow) {}
    using Call::await_ready;
    void await_suspend(std::coroutine_handle<> caller) noexcept {
      flow_.caller = caller.address();
      Call::await_suspend(caller);
    }
    std::optional<std::string> await_resume() {
      if (flow_.at_checkpoint) return std::nullopt;
      return Call::await_resume();
    }

   private:
    FlowState& flow_;
  };
  Await call_from_task() && noexcept { return Await(std::move(code_).call(), flow_); }

 private:
  Durable<std::string> code_;
  FlowState& flow_;
};

}  // namespace detail

}  // namespace tiffany

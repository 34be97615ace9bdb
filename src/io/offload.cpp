#include "tiffany/io/offload.hpp"

#include <cstdio>
#include <new>
#include <utility>

#include "tiffany/core/scheduler.hpp"

namespace tiffany::detail {
namespace {

constexpr const char* kWhat =
    " was cancelled and left a function to its thread (offload); nobody waits for what the "
    "function "
    "has thrown now";

// The error on its way to the log. One that does not get there goes to standard error: nobody else
// would ever hear of it.
class AbandonedFailure final : public Message {
 public:
  AbandonedFailure(const std::string& who, std::exception_ptr error)
      : what_((who.empty() ? std::string("A task") : who) + kWhat),
        text_(error_text(error)),
        error_(std::move(error)) {}
  ~AbandonedFailure() override {
    if (error_ == nullptr) return;
    std::fprintf(stderr, "%s: %s (The scheduler of the task has ended.)\n", what_.c_str(),
                 text_.c_str());
  }
  void deliver(Scheduler& scheduler) noexcept override {
    scheduler.reports().lost(what_, std::exchange(error_, nullptr));
  }

 private:
  std::string what_;
  std::string text_;
  std::exception_ptr error_;
};

}  // namespace

void AbandonedBy::set(const TaskRecord& task) noexcept {
  set_ = true;
  inbox_ = Scheduler::owner(task)->inbox();
  try {
    who_ = task.describe();
  } catch (const std::bad_alloc&) {
    // The report then names no task.
  }
}

void AbandonedBy::report(const std::exception_ptr& error) const noexcept {
  if (!set_) return;
  try {
    auto failure = std::make_unique<AbandonedFailure>(who_, error);
    // Without an inbox its destructor reports it.
    if (const auto inbox = inbox_.lock()) static_cast<void>(inbox->post(std::move(failure)));
  } catch (const std::bad_alloc&) {
    std::fputs(
        "A function of offload() threw after its task was cancelled, and there is no memory "
        "to say what.\n",
        stderr);
  }
}

}  // namespace tiffany::detail

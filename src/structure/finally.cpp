#include "tiffany/structure/finally.hpp"

#include "tiffany/core/scheduler.hpp"

namespace tiffany::detail {

void FinallyEnd::body_threw() noexcept {
  body_ = std::current_exception();
  trace_ = Scheduler::current()->trace_of(body_);
}

void FinallyEnd::finish() const {
  if (body_ == nullptr) {
    if (cleanup_ != nullptr) std::rethrow_exception(cleanup_);
    return;
  }
  Scheduler& scheduler = *Scheduler::current();
  if (cleanup_ != nullptr && cleanup_ != body_ && is_error(cleanup_)) {
    scheduler.reports().lost(
        *scheduler.running(),
        "threw from the cleanup of a finally() whose body had thrown already, so "
        "that this error cannot be thrown",
        cleanup_);
  }
  scheduler.exceptions().comes(body_, trace_);
  std::rethrow_exception(body_);
}

}  // namespace tiffany::detail

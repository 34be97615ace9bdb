#include "tiffany/engine/finally.hpp"

#include "tiffany/core/scheduler.hpp"

namespace tiffany::detail {
namespace {

// A cancellation is no error. The cleanup has one only where its scheduler ends and shields count no
// more.
bool is_error(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const Cancelled&) {
    return false;
  } catch (...) {
    return true;
  }
}

}  // namespace

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
    scheduler.report_lost(*scheduler.running(),
                          "threw from the cleanup of a finally() whose body had thrown already, so "
                          "that this error cannot be thrown",
                          cleanup_);
  }
  scheduler.exception_comes(body_, trace_);
  std::rethrow_exception(body_);
}

}  // namespace tiffany::detail

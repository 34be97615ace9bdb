#include "tiffany/core/cancel.hpp"

#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany {

const char* name_of(CancelCause cause) noexcept {
  switch (cause) {
    case CancelCause::requested:
      return "requested";
    case CancelCause::sibling_failed:
      return "sibling failed";
    case CancelCause::scope_ended:
      return "scope ended";
    case CancelCause::deadline:
      return "deadline";
    case CancelCause::timeout:
      return "timeout";
    case CancelCause::race_decided:
      return "race decided";
    case CancelCause::shutdown:
      return "shutdown";
    case CancelCause::dependency:
      return "dependency";
    case CancelCause::supervisor:
      return "supervisor";
  }
  return "unknown";
}

std::string CancelReason::text() const {
  std::string out = "cancelled";
  if (requester) out += " by task " + requester.text();
  out += " at " + site_text(site);
  if (!message.empty()) out += ": " + message;
  return out + " (" + name_of(cause) + ")";
}

CancelRegion::CancelRegion(Kind kind, Scope* scope)
    : task_(Scheduler::require("A cancel region").running()),
      outer_(task_->region_),
      scope_(scope),
      kind_(kind) {
  task_->region_ = this;
  Scheduler::current()->refresh_cancel(*task_);
}

CancelRegion::~CancelRegion() { close(); }

void CancelRegion::close() noexcept {
  if (!open_) return;
  open_ = false;
  // Usually the innermost; a frame that is dropped by force may go in another order.
  CancelRegion** link = &task_->region_;
  while (*link != this) link = &(*link)->outer_;
  *link = outer_;
  Scheduler::owner(*task_)->refresh_cancel(*task_);
}

void CancelRegion::cancel(CancelReasonPtr reason) {
  if (!open_ || reason_ != nullptr) return;
  reason_ = std::move(reason);
  Scheduler::owner(*task_)->refresh_cancel(*task_);
}

bool CancelRegion::outer_cancelled() const noexcept {
  if (hides(kind_)) return false;
  for (const CancelRegion* region = outer_; region != nullptr; region = region->outer_) {
    if (hides(region->kind_)) return false;
    if (region->reason_ != nullptr) return true;
  }
  return task_->cancel_reason() != nullptr;
}

}  // namespace tiffany

#include "tiffany/sync/event.hpp"

namespace tiffany {

void ManualResetEvent::set() noexcept {
  set_ = true;
  detail::tell_all(waiters_);
}

}  // namespace tiffany

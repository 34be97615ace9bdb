#include "tiffany/sync/event.hpp"

namespace tiffany {

void Event::set() noexcept {
  set_ = true;
  detail::tell_all(waiters_);
}

}  // namespace tiffany

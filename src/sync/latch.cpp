#include "tiffany/sync/latch.hpp"

#include "tiffany/base/error.hpp"

namespace tiffany {

void Latch::count_down(std::size_t by) {
  if (by > left_) {
    throw Error(Errc::bad_argument,
                "A latch that had " + std::to_string(left_) + " left was counted down by " +
                    std::to_string(by) +
                    ". Make it with the number of times that it will be counted down.");
  }
  left_ -= by;
  if (!open()) return;
  detail::tell_all(waiters_);
}

std::string Latch::Wait::describe() const {
  return "a latch to open (" + std::to_string(latch_->left_) + " left)";
}

}  // namespace tiffany

// What the operating system refused, in a sentence.
#pragma once

#include <string_view>

#include "tiffany/base/error.hpp"

namespace tiffany {

// The text is bounded: of what the operation was about, a kilobyte is shown.
class IoError : public Error {
 public:
  // `what` and `on`: "recv" and "tcp 127.0.0.1:80".
  IoError(int number, std::string_view what, std::string_view on);
  // With a sentence of its own about what to do; an empty one is replaced by what is known of the
  // number.
  IoError(int number, std::string_view what, std::string_view on, std::string_view to_do);

  // The errno: ECONNRESET, ENOSPC, ...
  int number() const noexcept { return number_; }

 private:
  int number_;
};

}  // namespace tiffany

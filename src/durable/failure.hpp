// What the log keeps of something that was thrown.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "tiffany/base/error.hpp"
#include "tiffany/base/time.hpp"

namespace tiffany::detail {

struct Failure {
  std::string type;  // empty: nothing was thrown
  int code = 0;      // of a tiffany::Error; zero: none
  int attempts = 1;  // of a step
  std::optional<Errc> cause() const noexcept {
    return code == 0 ? std::nullopt : std::optional<Errc>(static_cast<Errc>(code));
  }
};

// Null: nothing is known but a sentence.
using FailurePtr = std::shared_ptr<const Failure>;

// One failed attempt at a step.
struct FailedAttempt {
  std::string sentence;  // never empty, but when the attempt did not fail
  FailurePtr failure{};
  bool late = false;                // it was cancelled because it took too long
  bool final = false;               // another attempt makes no sense
  bool unknown = false;             // its code does not know whether it had its effect
  std::optional<Duration> after{};  // when the next one is to begin
};

// Of what was thrown. Never with an empty sentence.
FailedAttempt failed_attempt(const std::exception_ptr& error);

}  // namespace tiffany::detail

// Thrown by the code of a durable task when a person refused what the task asked for: the task
// failed as intended, and nothing is to be mended. A program that waits for such a task on the
// command line ends with the exit status 7.
//
//   if (!co_await approved) throw Rejected("The order was not approved.");
//
// A promise that was broken from outside (Host::complete with an error) is one too: the failure
// that its task sees, and ends with, has the type kRejectedType (RecordedFailure::type()).
#pragma once

#include <string>

#include "tiffany/base/error.hpp"

namespace tiffany {

class Rejected : public Error {
 public:
  explicit Rejected(const std::string& sentence, Errc code = Errc::durable_failed)
      : Error(code, sentence) {}
};

// As logs have it.
inline constexpr const char* kRejectedType = "tiffany::Rejected";

}  // namespace tiffany

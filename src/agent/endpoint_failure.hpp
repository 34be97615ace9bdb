// What an endpoint that does not answer as it should becomes for the step that asked.
#pragma once

#include <optional>
#include <string>

#include "tiffany/base/time.hpp"

namespace tiffany::agent {

// `what` is the sentence, without the end of it that says what becomes of the question. 429 and 503
// that say when to come again: RetryAfter. 408, 409, 425, 429 and 500 and more: Error model_failed.
// Every other one: NotRetryable.
[[noreturn]] void throw_for_status(int status, const std::string& what,
                                   std::optional<Duration> retry_after);

}  // namespace tiffany::agent

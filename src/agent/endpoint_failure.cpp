#include "agent/endpoint_failure.hpp"

#include "tiffany/base/error.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/durable/failures.hpp"

namespace tiffany::agent {

void throw_for_status(int status, const std::string& what, std::optional<Duration> retry_after) {
  if ((status == 429 || status == 503) && retry_after) {
    throw RetryAfter(*retry_after, what + " It asks to wait for " + duration_text(*retry_after) +
                                       " before the next attempt.");
  }
  const bool passing = status == 408 || status == 409 || status == 425 || status == 429;
  if (passing || status >= 500) throw Error(Errc::model_failed, what);
  throw NotRetryable(what);
}

}  // namespace tiffany::agent

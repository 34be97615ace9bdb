// What models and tools throw goes into the log, and is shown: without secrets.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/base/scrub.hpp"
#include "tiffany/durable/failures.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany::agent {

// The same result, or the same kind of failure with a sentence that has no secret in it. Cancel: as
// `work`.
template <class T>
Task<T> scrubbed_task(const Scrubber* secrets, Task<T> work) {
  try {
    co_return co_await std::move(work);
  } catch (const std::exception& error) {
    const std::string sentence = secrets->scrubbed(error.what());
    if (sentence == error.what()) throw;
    if (const auto* const later = dynamic_cast<const RetryAfter*>(&error)) {
      throw RetryAfter(later->delay(), sentence);
    }
    if (dynamic_cast<const NotRetryable*>(&error) != nullptr) throw NotRetryable(sentence);
    if (dynamic_cast<const StepUnknown*>(&error) != nullptr) throw StepUnknown(sentence);
    if (const auto* const known = dynamic_cast<const Error*>(&error)) {
      throw Error(known->code(), sentence);
    }
    throw std::runtime_error(sentence);
  }
}

}  // namespace tiffany::agent

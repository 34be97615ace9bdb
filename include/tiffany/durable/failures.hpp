// How steps and durable tasks fail: what is thrown into the code, and what code of a step throws to
// say whether another attempt makes sense.
//
//   try {
//     co_await flow.step("charge", StepOptions().retry(Retry(5).except<Declined>()), ...);
//   } catch (const StepUnknown&) {         // at most once, and nobody knows: ask the bank
//   } catch (const StepFailed& e) {        // e.type() == "Declined", e.attempts() == 1
//   }
//
// The end of what failed is in the log with the sentence, the name of the type that was thrown and,
// of a tiffany::Error, its number; so all of these are the same after a crash. What is passed on by
// the code of a task keeps the type and the number of what was thrown first.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/base/time.hpp"

namespace tiffany {

// A failure that a log has. code() says what failed (step_failed, durable_failed); what() is the
// sentence of what was thrown.
class RecordedFailure : public Error {
 public:
  RecordedFailure(Errc code, const std::string& sentence, std::string type,
                  std::optional<Errc> cause)
      : Error(code, sentence), type_(std::move(type)), cause_(cause) {}
  // The name of the type that was thrown, as the compiler writes it; kRejectedType for a broken
  // promise. Empty: nothing was thrown (the step took too long), or the log is of an older program.
  const std::string& type() const noexcept { return type_; }
  // The code of the tiffany::Error that was thrown. None: something else was.
  std::optional<Errc> cause() const noexcept { return cause_; }

 private:
  std::string type_;
  std::optional<Errc> cause_;
};

// A step failed as often as it may be tried (Errc::step_failed).
class StepFailed : public RecordedFailure {
 public:
  StepFailed(const std::string& sentence, std::string type, std::optional<Errc> cause,
             int attempts_made)
      : RecordedFailure(Errc::step_failed, sentence, std::move(type), cause),
        attempts_(attempts_made) {}
  int attempts() const noexcept { return attempts_; }

 private:
  int attempts_;
};

// Nobody knows whether a step that may happen once had its effect (Errc::step_unknown). Its own
// code may throw it, when an answer was lost; from other steps it is a failure like others.
class StepUnknown : public Error {
 public:
  explicit StepUnknown(const std::string& sentence) : Error(Errc::step_unknown, sentence) {}
};

// A task that was awaited has failed, or a promise was broken (Errc::durable_failed).
class DurableFailed : public RecordedFailure {
 public:
  DurableFailed(const std::string& sentence, std::string type, std::optional<Errc> cause)
      : RecordedFailure(Errc::durable_failed, sentence, std::move(type), cause) {}
};

// ---- Thrown by the code of a step ----

// Another attempt makes no sense: the step has failed.
class NotRetryable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The next attempt, if there is one, begins after so long, whatever the Retry of the step says. For
// services that say when to come again.
class RetryAfter : public std::runtime_error {
 public:
  RetryAfter(Duration delay, const std::string& sentence)
      : std::runtime_error(sentence), delay_(delay < Duration::zero() ? Duration::zero() : delay) {}
  Duration delay() const noexcept { return delay_; }

 private:
  Duration delay_;
};

}  // namespace tiffany

// Every error Tiffany raises: a stable number, a one-line meaning, and a sentence that says what
// happened, where, and what to do.
//
// `Cancelled` (core/cancel.hpp) is not in this table on purpose: it is not an error but the way a
// cancelled task leaves its own code, and `catch (const std::exception&)` must not swallow it.
#pragma once

#include <stdexcept>
#include <string>

namespace tiffany {

// name, number, meaning. Numbers are never reused.
#define TIFFANY_ERRORS(X)                                                                    \
  X(deadlock, 101, "tasks are left and nothing can ever wake them")                          \
  X(task_cancelled, 102, "the task that was awaited had been cancelled")                     \
  X(scope_cancelled, 103, "a scope was cancelled before its block had run to its end")       \
  X(timed_out, 104, "the value of an operation that timed out was asked for")                \
  X(all_failed, 105, "any() had no success to return")                                       \
  X(broken_promise, 106, "a promise was dropped before it was completed")                    \
  X(already_settled, 107, "a promise was completed or failed a second time")                 \
  X(empty_race, 108, "race() or any() was given nothing to wait for")                        \
  X(bad_argument, 109, "an argument is outside its range")                                   \
  X(no_task, 110, "a call that needs a running task was made outside of one")                \
  X(stale_handle, 111, "a handle or id does not name a task any more")                       \
  X(value_taken, 112, "a result that can only be moved was taken by an earlier await")       \
  X(nested_run, 113, "a scheduler was driven from inside a task or from a second place")     \
  X(unknown_promise, 114, "no pending external promise has this UUID or type")               \
  X(diverged, 115, "a recorded order does not fit the program that it drives")               \
  X(no_wake_source, 116, "a poll-style task returned pending and registered no way to wake") \
  X(self_join, 117, "a task waited for itself")                                              \
  X(not_in_context, 130, "a value was asked of the context and nobody had set it")           \
  X(no_handler, 131, "an effect was performed and no handler for it is installed")           \
  X(key_type, 132, "a name in the state was used with two types")

enum class Errc : int {
#define X(name, number, meaning) name = number,
  TIFFANY_ERRORS(X)
#undef X
};

// The one-line meaning from the table above.
const char* meaning(Errc code) noexcept;

class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  Errc code() const noexcept { return code_; }

 private:
  Errc code_;
};

}  // namespace tiffany

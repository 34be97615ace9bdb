// Steps: how often they are tried, how long they may take, and what their effect is to the world.
//
//   co_await flow.step("charge", StepOptions().at_most_once(),
//                      [&](Attempt& attempt) -> Task<Charge> {
//     co_return co_await bank.charge(order, attempt.key());
//   });
//
// What happens when the process dies while a step is under way is decided by its class:
//
//   idempotent      It is run again, with the same key. The default: right for what can be done
//                   twice, and for services that take an idempotency key.
//   at_most_once    That it begins is on the disk before it does. If no end is, or if it took
//                   longer than it may, nobody knows whether the effect took place: the step fails
//                   with StepUnknown, and the task decides. It is never run again.
//   transactional   As idempotent, but first `find(key)` is asked whether the effect took place; if
//                   it gives a result, that is the result. For effects in a database, which keep
//                   the key beside them. It is asked whenever the effect may have taken place:
//                   after a crash, and before another attempt.
//
// An attempt that the process did not survive is an attempt. So a step that ends the process each
// time fails in the end: after StepOptions::crashes attempts, or else after Retry::most, but not
// before the tenth, for a process may die for reasons of its own. To know of such attempts, the
// first step that a task begins after it has come back is recorded, and synced, before it runs;
// others are not. An attempt that was stopped in good order (Host::close, Host::pause) does not
// count.
#pragma once

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/outcome.hpp"
#include "tiffany/base/temporaries.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/durable/failures.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany {

class FlowState;

namespace detail {

struct Slot;
struct StepSlot;

// Arguments as an array; what can be read as text is text.
template <class... Args>
std::string arguments_json(const Args&... args) {
  std::string text;
  JsonWriter out(text);
  [[maybe_unused]] const auto write = [&out](const auto& arg) {
    if constexpr (std::is_convertible_v<decltype(arg), std::string_view>) {
      write_json(out, std::string(std::string_view(arg)));
    } else {
      write_json(out, arg);
    }
  };
  out.begin_array();
  (write(args), ...);
  out.end_array();
  return text;
}

}  // namespace detail

enum class StepEffect : std::uint8_t { idempotent, at_most_once, transactional };

class Retry {
 public:
  // As often as this in all, with pauses that begin with `first` and grow by `factor` up to
  // `longest`. When a pause ends is recorded: a crash meanwhile neither ends it nor begins it anew.
  explicit Retry(int attempts = 1, Duration first_pause = std::chrono::milliseconds(100),
                 double growth = 2.0, Duration longest_pause = std::chrono::minutes(1)) noexcept
      : most(attempts), first(first_pause), factor(growth), longest(longest_pause) {}
  int most;
  Duration first;
  double factor;
  Duration longest;
  double spread = 0;                                         // see jitter
  std::vector<bool (*)(const std::exception_ptr&)> never{};  // see except

  // Pauses are shorter by up to this part of them, from 0 to 1, so that many tasks do not come back
  // at the same moment. How much is a hash of the key of the step and the attempt: it is the same
  // in every process, and needs no record.
  Retry jitter(double part) const {
    Retry changed(*this);
    changed.spread = part;
    return changed;
  }
  // What is an E fails the step at once, as NotRetryable does.
  template <class E>
  Retry except() const {
    Retry changed(*this);
    changed.never.push_back(&is_an<E>);
    return changed;
  }

  // `key` is the hash of the key of the step.
  Duration pause_after(int attempt, std::uint64_t key = 0) const noexcept;
  bool excepts(const std::exception_ptr& error) const noexcept;

 private:
  template <class E>
  static bool is_an(const std::exception_ptr& error) {
    try {
      std::rethrow_exception(error);
    } catch (const E&) {
      return true;
    } catch (...) {
      return false;
    }
  }
};

class StepOptions {
 public:
  StepOptions() = default;

  StepOptions&& at_most_once() && {
    effect = StepEffect::at_most_once;
    return std::move(*this);
  }
  // The result as JSON, or nothing when the effect did not take place.
  template <class Ask>
  StepOptions&& transactional(Ask&& ask) && {
    detail::refuse_destroyed_twice<Ask>();
    effect = StepEffect::transactional;
    find = detail::unmoved(std::forward<Ask>(ask));
    return std::move(*this);
  }
  // At least once in all, with pauses and a factor that are not negative; Errc::bad_argument
  // otherwise.
  StepOptions&& retry(Retry how) &&;
  // For each attempt; it is then cancelled, and has failed
  // (at_most_once: its outcome is unknown). More than zero; Errc::bad_argument otherwise.
  StepOptions&& timeout(Duration longest) &&;
  // For each attempt: the longest that it may go without Attempt::heartbeat. It is then cancelled,
  // and has failed. More than zero; Errc::bad_argument otherwise.
  StepOptions&& heartbeat(Duration longest_silence) &&;
  // For all attempts with their pauses, counted from the first that is recorded, also across
  // crashes. An attempt is cancelled when the time is over, and no other one begins after it
  // (at_most_once: the outcome is then unknown). More than zero; Errc::bad_argument otherwise.
  StepOptions&& deadline(Duration in_all) &&;
  // How often the step is begun at most when the process ends each time before the step does.
  StepOptions&& crashes(int most_attempts) && {
    most_crashes = most_attempts;
    return std::move(*this);
  }
  // What the step depends on: part of its key, and compared with the log.
  template <class... Args>
  StepOptions&& arguments(const Args&... args) && {
    about = detail::arguments_json(args...);
    return std::move(*this);
  }

  // The end of the step is a record of this type instead of a StepEnd: one of those for which
  // wal::ends_step is true; Errc::bad_argument otherwise. For those who read the log; the step is
  // the same.
  StepOptions&& recorded_as(wal::RecordType type) &&;

  // Throws Errc::bad_argument for what cannot be; the step itself asks, too.
  void check() const;

  StepEffect effect = StepEffect::idempotent;
  Retry policy{};
  std::optional<Duration> limit{};
  std::optional<Duration> silence{};
  std::optional<Duration> total{};
  std::optional<int> most_crashes{};
  std::string about{};
  wal::RecordType ending = wal::RecordType::StepEnd;
  std::function<std::optional<std::string>(const std::string&)> find{};
};

// One attempt at a step, for the code that makes it.
class Attempt {
 public:
  explicit Attempt(detail::StepSlot& step) noexcept : step_(step) {}
  // The same for every attempt at this step of this task, in this process and in later ones;
  // different for every other step, and for other arguments.
  std::string key() const;
  int number() const noexcept;
  // Which Host::retry() of the task, behind its last checkpoint, this follows: greater with each;
  // zero: none. What was done before it under the same key is to be done again.
  std::uint64_t retry() const noexcept;
  // Says how far it has come: a record in the log, which is not waited for. The last word is kept
  // for the next attempt, also after a crash. Words that come faster than the disk share a record.
  // At most 16 KiB of UTF-8 (kLongestReason); Errc::bad_argument otherwise.
  void heartbeat(std::string details);
  const std::string& details() const noexcept;

 private:
  detail::StepSlot& step_;
};

namespace detail {

template <class F>
auto invoke_step(F& fn, Attempt& attempt) {
  if constexpr (std::is_invocable_v<F&, Attempt&>) {
    return fn(attempt);
  } else {
    static_assert(std::is_invocable_v<F&>,
                  "a step takes nothing, or an Attempt&, and returns a value or a Task of one");
    return fn();
  }
}
template <class F>
using StepReturn = decltype(invoke_step(std::declval<F&>(), std::declval<Attempt&>()));

template <class R>
struct StepValue {
  using type = R;
};
template <class R>
struct StepValue<Task<R>> {
  using type = R;
};
template <class F>
using StepResult = typename StepValue<StepReturn<F>>::type;
template <class F>
inline constexpr bool kStepSuspends = IsTask<StepReturn<F>>::value;

// The code of a step, whatever its type.
class StepCode {
 public:
  virtual bool suspends() const noexcept = 0;
  // Appends the result as JSON.
  virtual void call(Attempt& attempt, std::string& result) = 0;
  virtual Task<void> run(Attempt& attempt, std::string& result) = 0;

 protected:
  ~StepCode() = default;
};

template <class F>
void call_step(F& fn, Attempt& attempt, std::string& result) {
  if constexpr (std::is_void_v<StepResult<F>>) {
    invoke_step(fn, attempt);
    result = "null";
  } else {
    result = to_json(invoke_step(fn, attempt));
  }
}
// By the type of the value and not of the callable: GCC 12 does not take lambdas of coroutines as
// parameters of others.
template <class R>
Task<void> run_step(Task<R> step, std::string* result) {
  if constexpr (std::is_void_v<R>) {
    co_await std::move(step);
    *result = "null";
  } else {
    *result = to_json(co_await std::move(step));
  }
}
Task<void> nothing();

Slot* issue_step(FlowState& flow, std::string_view name, const StepOptions& options, StepCode& code,
                 const std::source_location& site);
}  // namespace detail

}  // namespace tiffany

// Runs a program under many orders, and when one of them makes it fail, says how little it takes.
//
//   auto result = explore([]() -> Task<void> {
//     Account account(100);
//     auto a = spawn(withdraw, std::ref(account), 80);
//     auto b = spawn(withdraw, std::ref(account), 80);
//     co_await gather(a, b);
//     check(account.balance() >= 0, "the account is overdrawn");
//   }, Seeds(1000));
//   if (!result.passed()) std::puts(result.text().c_str());
//
// The body is a coroutine or a plain function, with or without a TestScheduler& as its parameter.
// It is called anew for every run, so it must make everything that it changes. A coroutine runs as
// a task until everything that it started has ended; a function drives the scheduler by itself.
// Tasks that refer to variables of the body belong into a scope in it: when something fails, the
// body ends.
//
// A run fails when the body throws, when a task fails and nobody looks at its error, when tasks are
// left that nothing can wake (Deadlock), when a check() does not hold (even if somebody catches
// what it throws), and when it does not end. The first run is first in first out, then comes one
// for each seed, until one fails. Its order is then reduced to the fewest deviations from first in
// first out that still fail in the same way, and the result says how to run that again.
//
// Every await of the body is a place where others may run (the quantum is 1).
//
// To run a failure again: TIFFANY_REPLAY in the environment makes explore() run the body once, with
// the deviations that it names, and print to standard error that it did. The command in the result
// does so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/test/schedule.hpp"
#include "tiffany/test/test_scheduler.hpp"

namespace tiffany::test {

// ---- In the body ----

class CheckFailed : public Error {
 public:
  explicit CheckFailed(const std::string& sentence) : Error(Errc::check_failed, sentence) {}
};

// Throws CheckFailed when `holds` is false, with the message and the place. Inside explore() the
// run has then failed, whatever becomes of the exception. May be used outside of it too.
void check(bool holds, const char* message = "",
           std::source_location site = std::source_location::current());

// ---- Around it ----

class Seeds {
 public:
  // `count` of them: first, first + 1, ...
  constexpr explicit Seeds(std::size_t count, std::uint64_t first = 1) noexcept
      : count_(count), first_(first) {}
  constexpr std::size_t count() const noexcept { return count_; }
  constexpr std::uint64_t first() const noexcept { return first_; }

 private:
  std::size_t count_;
  std::uint64_t first_;
};

class ExploreOptions {
 public:
  ExploreOptions() = default;

  // For programs that explore several bodies: the command repeats the one with this name only.
  ExploreOptions&& name(std::string value) && {
    name_ = std::move(value);
    return std::move(*this);
  }
  // An argument that the command must have, such as --gtest_filter=Suite.Test. It replaces one that
  // has the same text up to its `=`.
  ExploreOptions&& argument(std::string value) && {
    argument_ = std::move(value);
    return std::move(*this);
  }
  ExploreOptions&& strategy(Strategy value) && {
    strategy_ = value;
    return std::move(*this);
  }
  // A run with more picks of a task than this fails with Errc::never_ends.
  ExploreOptions&& max_picks(std::size_t value) && {
    max_picks_ = value;
    return std::move(*this);
  }
  // How many runs the reduction of a failure may take.
  ExploreOptions&& max_shrink_runs(std::size_t value) && {
    max_shrink_runs_ = value;
    return std::move(*this);
  }

  const std::string& name() const noexcept { return name_; }
  const std::string& argument() const noexcept { return argument_; }
  Strategy strategy() const noexcept { return strategy_; }
  std::size_t max_picks() const noexcept { return max_picks_; }
  std::size_t max_shrink_runs() const noexcept { return max_shrink_runs_; }

 private:
  std::string name_;
  std::string argument_;
  Strategy strategy_ = Strategy::mixed;
  std::size_t max_picks_ = 100'000;
  std::size_t max_shrink_runs_ = 5'000;
};

// What explore() found.
struct Exploration {
  bool passed() const noexcept { return !failed; }
  explicit operator bool() const noexcept { return passed(); }
  // All of it, for people: what failed, the order, how to run it again.
  std::string text() const;

  bool failed = false;
  bool replayed = false;   // TIFFANY_REPLAY was set: one run, with the deviations that it names
  bool skipped = false;    // TIFFANY_REPLAY was set, for a body of another name
  std::size_t runs = 0;    // until one failed, the first in first out run included
  std::uint64_t seed = 0;  // that failed; 0 for the first in first out run

  std::string error;  // what failed, as a sentence; for a deadlock the whole report of who waits
  Deviations found;   // of the run that failed
  Deviations deviations;           // what is left of them
  std::vector<std::string> order;  // the same in words
  std::size_t shrink_runs = 0;
  // No deviation that is left can be taken away, nor its index lowered.
  bool minimal = false;
  // Every order with fewer deviations was tried, and none fails. False when that would have taken
  // too many runs.
  bool fewest = false;
  // Two runs with the same deviations differed: the body depends on something else than its order.
  bool unstable = false;
  std::string command;  // for a shell, from the directory that the program was started in
};

// Two runs of one order, compared.
struct Determinism {
  bool same = true;
  std::size_t picks = 0;  // of the first run
  std::string text;       // where the runs parted, and how
  explicit operator bool() const noexcept { return same; }
};

namespace detail {

using Body = std::function<void(TestScheduler&)>;

Exploration explore(const Body& body, const Seeds& seeds, const ExploreOptions& options);
Determinism check_deterministic(const Body& body, std::uint64_t seed);

// Runs until all has ended, and throws what `main` threw.
void run_main(TestScheduler& test, Handle<void> main);

template <class F>
Body make_body(F& f, std::source_location site) {
  if constexpr (std::is_invocable_v<F&, TestScheduler&>) {
    if constexpr (std::is_void_v<std::invoke_result_t<F&, TestScheduler&>>) {
      return [&f](TestScheduler& test) { f(test); };
    } else {
      return [&f, site](TestScheduler& test) {
        run_main(test, test.spawn(std::ref(f), std::ref(test), site).named("main"));
      };
    }
  } else {
    static_assert(std::is_invocable_r_v<Task<void>, F&>,
                  "the body is a coroutine that returns Task<void>, or a function that returns "
                  "nothing; it takes a TestScheduler& or, for a coroutine, nothing");
    return [&f, site](TestScheduler& test) {
      run_main(test, test.spawn(std::ref(f), site).named("main"));
    };
  }
}

}  // namespace detail

template <class F>
Exploration explore(F&& body, Seeds seeds, const ExploreOptions& options = ExploreOptions(),
                    std::source_location site = std::source_location::current()) {
  return detail::explore(detail::make_body(body, site), seeds, options);
}

// Runs the body twice under the order of one seed (0: first in first out) and compares what
// happened. A difference means that something else than the order decides: an address, a hash
// order, a real clock, a static variable. The text says between which picks of a task the runs
// parted.
template <class F>
Determinism check_deterministic(F&& body, std::uint64_t seed = 1,
                                std::source_location site = std::source_location::current()) {
  return detail::check_deterministic(detail::make_body(body, site), seed);
}

}  // namespace tiffany::test

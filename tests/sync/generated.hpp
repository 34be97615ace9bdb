// What the model tests of module sync share: a program is drawn from a seed, and run in an order
// that is drawn from the same seed, beside a reference that is as simple as can be. Each operation
// is a task of its own. The reference is told of everything right before it happens, and asked
// right after.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::test {

// Calls `program(random)` for each seed, as the main task of a scheduler of its own. Stops at the
// first seed that fails.
template <class F>
void for_each_seed(F& program, std::uint64_t seeds = 1000) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed, "sync model");
    constexpr std::uint32_t kQuanta[] = {1, 2, 5, 128};
    Options options = Options().virtual_time().quantum(kQuanta[random.below(4)]);
    if (seed % 4 != 0) options = std::move(options).order(random_order(seed));
    run_program([&]() -> Task<void> { co_await program(random); }, std::move(options));
    if (::testing::Test::HasFailure()) return;
  }
}

inline Task<void> yield_up_to(Random& random, std::uint64_t most) {
  for (std::uint64_t i = random.below(most + 1); i > 0; --i) co_await yield();
}

// The operations of a generated program, numbered from 0.
class Operations {
 public:
  // `body` is called as body(number, args...) and must outlive the operation.
  template <class F, class... Args>
  void start(F& body, Args... args) {
    handles_.push_back(spawn(std::ref(body), static_cast<int>(handles_.size()), args...));
  }
  // Cancels one of them, if it has not ended. `before` is told its number first.
  template <class Before>
  void cancel_one(Random& random, Before before) {
    if (handles_.empty()) return;
    const auto which = static_cast<std::size_t>(random.below(handles_.size()));
    if (handles_[which].done()) return;
    before(static_cast<int>(which));
    handles_[which].cancel();
  }
  template <class Before>
  void cancel_all(Before before) {
    for (std::size_t i = 0; i < handles_.size(); ++i) {
      if (handles_[i].done()) continue;
      before(static_cast<int>(i));
      handles_[i].cancel();
    }
  }
  // No operation may have failed; being cancelled is allowed.
  Task<void> join() {
    const auto ends = co_await all_settled(handles_);
    for (const auto& end : ends) {
      EXPECT_FALSE(end.failed()) << what_of(end.error());
    }
  }

 private:
  std::vector<Handle<void>> handles_;
};

}  // namespace tiffany::test

// Mutex, shared mutex and semaphore beside one reference: so many, given in the order they were
// asked for. A mutex has one; a shared mutex has very many, of which a writer needs all.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "sync/generated.hpp"

namespace tiffany {
namespace locks_model_test {

using namespace test;

class Reference {
 public:
  explicit Reference(std::size_t all) : all_(all), free_(all) {}

  void ask(int who, std::size_t count) {
    line_.emplace_back(who, count);
    admit();
  }
  void withdraw(int who) {
    const auto at = std::find_if(line_.begin(), line_.end(),
                                 [who](const auto& entry) { return entry.first == who; });
    if (at == line_.end()) return;
    line_.erase(at);
    withdrawn_.insert(who);
    admit();
  }
  void give_back(int who) {
    free_ += held_.at(who);
    held_.erase(who);
    admit();
  }
  bool has(int who) const { return held_.contains(who); }
  bool was_withdrawn(int who) const { return withdrawn_.contains(who); }
  bool can_have_now(std::size_t count) const { return line_.empty() && count <= free_; }
  bool is_unused() const { return line_.empty() && held_.empty() && free_ == all_; }

 private:
  void admit() {
    while (!line_.empty() && line_.front().second <= free_) {
      const auto [who, count] = line_.front();
      line_.pop_front();
      free_ -= count;
      held_[who] = count;
    }
  }
  const std::size_t all_;
  std::size_t free_;
  std::deque<std::pair<int, std::size_t>> line_;
  std::map<int, std::size_t> held_;
  std::set<int> withdrawn_;
};

// What the three primitives look like to the test: take(count) of `all`, as something that gives
// back when it is destroyed.
using Held = std::shared_ptr<void>;

template <class H>
Held keep(H hold) {
  return std::make_shared<H>(std::move(hold));
}

struct AsMutex {
  static constexpr std::size_t all = 1;
  static std::size_t draw(Random&) { return 1; }
  Task<Held> take(std::size_t) { co_return keep(co_await mutex.lock()); }
  Held try_take(std::size_t) {
    auto guard = mutex.try_lock();
    return guard ? keep(std::move(*guard)) : nullptr;
  }
  bool is_unused() { return !mutex.locked(); }
  Mutex mutex;
};

struct AsSharedMutex {
  static constexpr std::size_t all = 1'000'000;
  static std::size_t draw(Random& random) { return random.below(3) == 0 ? all : 1; }
  Task<Held> take(std::size_t count) {
    if (count == all) co_return keep(co_await mutex.lock());
    co_return keep(co_await mutex.lock_shared());
  }
  Held try_take(std::size_t count) {
    if (count == all) {
      auto guard = mutex.try_lock();
      return guard ? keep(std::move(*guard)) : nullptr;
    }
    auto guard = mutex.try_lock_shared();
    return guard ? keep(std::move(*guard)) : nullptr;
  }
  bool is_unused() { return !mutex.locked() && mutex.readers() == 0; }
  SharedMutex mutex;
};

struct AsSemaphore {
  static constexpr std::size_t all = 4;
  static std::size_t draw(Random& random) { return 1 + random.below(all); }
  Task<Held> take(std::size_t count) { co_return keep(co_await semaphore.acquire(count)); }
  Held try_take(std::size_t count) {
    auto permit = semaphore.try_acquire(count);
    return permit ? keep(std::move(*permit)) : nullptr;
  }
  bool is_unused() { return semaphore.available() == all; }
  Semaphore semaphore{all};
};

template <class P>
class LocksModel : public ::testing::Test {};
using Primitives = ::testing::Types<AsMutex, AsSharedMutex, AsSemaphore>;
TYPED_TEST_SUITE(LocksModel, Primitives);

TYPED_TEST(LocksModel, DoesWhatTheReferenceDoes) {
  const auto program = [](Random& random) -> Task<void> {
    TypeParam primitive;
    Reference reference(TypeParam::all);
    Operations operations;
    const auto operation = [&](int self, std::size_t count) -> Task<void> {
      reference.ask(self, count);
      Held held;
      try {
        held = co_await primitive.take(count);
      } catch (const Cancelled&) {
        EXPECT_TRUE(reference.was_withdrawn(self)) << self << " was to have it";
        throw;
      }
      EXPECT_TRUE(reference.has(self)) << self << " has it before its turn";
      try {
        co_await yield_up_to(random, 6);
      } catch (const Cancelled&) {
      }
      reference.give_back(self);
      held.reset();
    };
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t what = random.below(10);
      if (what < 5) {
        operations.start(operation, TypeParam::draw(random));
      } else if (what < 7) {
        operations.cancel_one(random, [&](int who) { reference.withdraw(who); });
      } else if (what < 8) {
        const std::size_t count = TypeParam::draw(random);
        const bool expected = reference.can_have_now(count);
        const Held held = primitive.try_take(count);
        EXPECT_EQ(held != nullptr, expected);
      } else {
        co_await yield_up_to(random, 8);
      }
    }
    co_await operations.join();
    EXPECT_TRUE(reference.is_unused());
    EXPECT_TRUE(primitive.is_unused());
  };
  for_each_seed(program);
}

}  // namespace locks_model_test
}  // namespace tiffany

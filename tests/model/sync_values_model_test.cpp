// Watch, Broadcast and RateLimiter against a reference that looks on: tasks of a generated program
// say what they ask for and what they got, and the reference, which knows no scheduler, says
// whether that is right. Waits are given up by timeouts and cancels on the way.
//
// A seed gives one program. What is checked: every answer, and its point in time; that those who
// wait go on in the order they came; that nobody who could go on is left waiting.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany::test {
namespace sync_values_model_test {

constexpr std::uint64_t kSeeds = 300;
constexpr std::size_t kTasks = 6;
constexpr int kSteps = 25;

// Who waits in a line that is told as a whole, in the order it came.
class Line {
 public:
  void enter(std::size_t who) { waiting_.push_back(who); }
  void leave(std::size_t who) {
    std::erase(waiting_, who);
    std::erase_if(told_, [who](const Told& told) { return told.who == who; });
  }
  void tell_all() {
    for (const std::size_t who : waiting_) told_.push_back({who, now()});
    waiting_.clear();
  }
  // One goes on. It is the first of those that were told, or did not wait at all.
  void goes_on(std::size_t who) {
    EXPECT_EQ(std::count(waiting_.begin(), waiting_.end(), who), 0) << who << " was not told";
    const auto told =
        std::find_if(told_.begin(), told_.end(), [who](const Told& one) { return one.who == who; });
    if (told == told_.end()) return;
    EXPECT_EQ(told, told_.begin()) << who << " overtakes " << told_.front().who;
    told_.erase(told);
  }
  // Time has passed: those who were told went on before.
  void look() const {
    for (const Told& told : told_) EXPECT_EQ(told.when, now()) << told.who << " is left waiting";
  }

 private:
  struct Told {
    std::size_t who;
    Time when;
  };
  std::deque<std::size_t> waiting_;
  std::deque<Told> told_;
};

// ---- What the programs share ----

class Program {
 public:
  explicit Program(std::uint64_t seed, const char* name) : random_(seed, name) {}

  std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
  bool chance(std::uint64_t percent) { return random_.below(100) < percent; }
  // Waits are given up between the points in time at which anything is given.
  Duration patience() { return Duration(static_cast<Duration::rep>(10 * below(8) + 5)); }

  // Ten nanoseconds is the grid on which things happen.
  Task<void> pause() {
    const auto grid = static_cast<Duration::rep>(10 * below(4));
    const auto over = now().time_since_epoch().count() % 10;
    co_await sleep(Duration(grid + (over == 0 ? 0 : 10 - over)));
  }

 private:
  Random random_;
};

// ---- Watch ----

class WatchProgram : public Program {
 public:
  explicit WatchProgram(std::uint64_t seed) : Program(seed, "watch model") {
    for (std::size_t i = 0; i < kTasks; ++i) readers_.push_back(watch_.reader());
    seen_.resize(kTasks, 0);
  }

  Task<void> work(std::size_t who) {
    for (int step = 0; step < kSteps; ++step) {
      line_.look();
      switch (below(8)) {
        case 0:
        case 1:
          set();
          break;
        case 2:
          co_await pause();
          break;
        case 3:
          EXPECT_EQ(readers_[who].has_changed(), seen_[who] < version_);
          EXPECT_EQ(readers_[who].latest(), value_);
          seen_[who] = version_;
          break;
        default:
          co_await wait(who);
      }
    }
  }
  Task<void> end() {
    co_await sleep(2us);
    watch_.close();
    closed_ = true;
    line_.tell_all();
  }

 private:
  void set() {
    value_ = static_cast<int>(below(1000));
    ++version_;
    watch_.set(value_);
    line_.tell_all();
  }
  Task<void> wait(std::size_t who) {
    const std::uint64_t since = seen_[who];
    const bool at_once = version_ > since || closed_;
    if (!at_once) line_.enter(who);
    std::optional<int> got;
    if (chance(50)) {
      const auto timed = co_await within(patience(), readers_[who].changed());
      if (timed.timed_out()) {
        EXPECT_FALSE(at_once);
        line_.leave(who);
        co_await pause();
        co_return;
      }
      got = timed.value();
    } else {
      got = co_await readers_[who].changed();
    }
    line_.goes_on(who);
    if (version_ == since) {
      EXPECT_TRUE(closed_);
      EXPECT_FALSE(got.has_value());
    } else {
      EXPECT_EQ(got, std::optional<int>(value_));
      seen_[who] = version_;
    }
    EXPECT_EQ(readers_[who].seen(), seen_[who]);
  }

  Watch<int> watch_;
  std::vector<WatchReader<int>> readers_;
  int value_ = 0;
  std::uint64_t version_ = 0;
  bool closed_ = false;
  std::vector<std::uint64_t> seen_;
  Line line_;
};

// ---- Broadcast ----

class BroadcastProgram : public Program {
 public:
  explicit BroadcastProgram(std::uint64_t seed)
      : Program(seed, "broadcast model"), broadcast_(1 + below(4)) {
    for (std::size_t i = 0; i < kTasks; ++i) receivers_.push_back(broadcast_.subscribe());
    next_.resize(kTasks, 0);
  }

  Task<void> work(std::size_t who) {
    for (int step = 0; step < kSteps; ++step) {
      line_.look();
      switch (below(8)) {
        case 0:
        case 1:
        case 2:
          send();
          break;
        case 3:
          co_await pause();
          break;
        case 4:
          expect(who, next_[who], receivers_[who].try_recv());
          break;
        case 5:
          receivers_[who] = broadcast_.subscribe();
          next_[who] = sent_.size();
          break;
        default:
          co_await receive(who);
      }
      EXPECT_EQ(receivers_[who].size(), sent_.size() - std::max(next_[who], oldest()));
    }
  }
  Task<void> end() {
    co_await sleep(2us);
    broadcast_.close();
    closed_ = true;
    line_.tell_all();
  }

 private:
  std::size_t oldest() const {
    return sent_.size() - std::min(sent_.size(), broadcast_.capacity());
  }
  void send() {
    const int value = static_cast<int>(below(1000));
    const auto error = thrown_by([&] { broadcast_.send(value); });
    EXPECT_EQ(error != nullptr, closed_);
    if (closed_) return;
    sent_.push_back(value);
    line_.tell_all();
  }
  // What comes to a receiver that waits for number `from`.
  void expect(std::size_t who, std::size_t from, const Heard<int>& got) {
    const std::size_t number = std::max(from, oldest());
    ASSERT_EQ(got.has_value(), number < sent_.size());
    if (!got.has_value()) return;
    EXPECT_EQ(*got, sent_[number]);
    EXPECT_EQ(got.missed(), number - from);
    next_[who] = std::max(next_[who], number + 1);
  }
  Task<void> receive(std::size_t who) {
    const std::size_t from = next_[who];
    const bool at_once = from < sent_.size() || closed_;
    if (!at_once) line_.enter(who);
    if (chance(50)) {
      const auto timed = co_await within(patience(), receivers_[who].recv());
      if (timed.timed_out()) {
        EXPECT_FALSE(at_once);
        line_.leave(who);
        co_await pause();
        co_return;
      }
      line_.goes_on(who);
      expect(who, from, timed.value());
    } else {
      const auto got = co_await receivers_[who].recv();
      line_.goes_on(who);
      EXPECT_TRUE(got.has_value() || closed_);
      expect(who, from, got);
    }
  }

  Broadcast<int> broadcast_;
  std::vector<BroadcastReceiver<int>> receivers_;
  std::vector<int> sent_;
  std::vector<std::size_t> next_;
  bool closed_ = false;
  Line line_;
};

// ---- RateLimiter ----

// A bucket in whole numbers: `count` tokens in `per` nanoseconds are one in `each`.
class Bucket {
 public:
  Bucket(std::uint64_t each, std::uint64_t burst) : each_(each), burst_(burst) {
    parts_ = burst_ * each_;
  }

  // `patience`: so long at the most.
  void ask(std::size_t who, std::uint64_t tokens, std::optional<Duration> patience) {
    serve();
    const std::uint64_t leaves = patience ? present() + count_of(*patience) : UINT64_MAX;
    line_.push_back({who, tokens, leaves});
    serve();
  }
  // When `who` was served; none while it waits.
  std::optional<Time> served(std::size_t who) {
    serve();
    std::optional<Time> when;
    std::erase_if(served_, [&](const Served& one) {
      if (one.who == who) when = one.when;
      return one.who == who;
    });
    return when;
  }
  bool try_ask(std::uint64_t tokens) {
    serve();
    if (!line_.empty() || parts_ < tokens * each_) return false;
    parts_ -= tokens * each_;
    return true;
  }
  std::uint64_t available() {
    serve();
    return parts_ / each_;
  }

 private:
  struct Asked {
    std::size_t who;
    std::uint64_t tokens;
    std::uint64_t leaves;
  };
  struct Served {
    std::size_t who;
    Time when;
  };
  void move_to(std::uint64_t time) {
    if (time <= at_) return;
    parts_ = std::min(parts_ + (time - at_), burst_ * each_);
    at_ = time;
  }
  static std::uint64_t count_of(Duration duration) {
    return static_cast<std::uint64_t>(duration.count());
  }
  static std::uint64_t present() { return count_of(now().time_since_epoch()); }
  // Whatever has happened by now, one after the other: the first of the line has its tokens, or
  // somebody has lost patience. Never both at one time: patience ends beside the grid.
  void serve() {
    while (!line_.empty()) {
      const std::uint64_t price = line_.front().tokens * each_;
      const std::uint64_t due = at_ + (price > parts_ ? price - parts_ : 0);
      const auto by_patience = [](const Asked& a, const Asked& b) { return a.leaves < b.leaves; };
      const auto leaver = std::min_element(line_.begin(), line_.end(), by_patience);
      if (std::min(due, leaver->leaves) > present()) break;
      if (leaver->leaves < due) {
        move_to(leaver->leaves);
        line_.erase(leaver);
      } else {
        move_to(due);
        parts_ -= price;
        served_.push_back({line_.front().who, Time(Duration(static_cast<Duration::rep>(due)))});
        line_.pop_front();
      }
    }
    move_to(present());
  }

  std::uint64_t each_;
  std::uint64_t burst_;
  std::uint64_t parts_;  // a token is `each_` of them, and a nanosecond brings one
  std::uint64_t at_ = 0;
  std::deque<Asked> line_;
  std::vector<Served> served_;
};

class LimiterProgram : public Program {
 public:
  explicit LimiterProgram(std::uint64_t seed)
      : Program(seed, "limiter model"),
        count_(1 + below(5)),
        each_(10 * (1 + below(3))),
        burst_(1 + below(4)),
        limiter_(count_, Duration(static_cast<Duration::rep>(count_ * each_)), burst_),
        bucket_(each_, burst_) {}

  Task<void> work(std::size_t who) {
    for (int step = 0; step < kSteps; ++step) {
      const std::uint64_t tokens = 1 + below(burst_);
      switch (below(6)) {
        case 0:
          co_await pause();
          break;
        case 1:
          EXPECT_EQ(limiter_.try_acquire(tokens), bucket_.try_ask(tokens));
          break;
        case 2:
          EXPECT_EQ(limiter_.available(), bucket_.available());
          break;
        default:
          co_await acquire(who, tokens);
      }
    }
  }
  Task<void> end() { co_return; }

 private:
  Task<void> acquire(std::size_t who, std::uint64_t tokens) {
    std::optional<Duration> limit;
    if (chance(40)) limit = patience();
    bucket_.ask(who, tokens, limit);
    if (limit) {
      const auto timed = co_await within(*limit, limiter_.acquire(tokens));
      if (timed.timed_out()) {
        EXPECT_EQ(bucket_.served(who), std::nullopt) << who << " could have been served";
        co_await pause();
        co_return;
      }
    } else {
      co_await limiter_.acquire(tokens);
    }
    EXPECT_EQ(bucket_.served(who), std::optional<Time>(now())) << who << " in its turn";
    // Somebody before it may have lost patience, and given way beside the grid.
    if (now().time_since_epoch().count() % 10 != 0) co_await pause();
  }

  std::uint64_t count_;
  std::uint64_t each_;
  std::uint64_t burst_;
  RateLimiter limiter_;
  Bucket bucket_;
};

// ---- Running them ----

template <class P>
void run_seeds() {
  for (std::uint64_t seed = 0; seed < kSeeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    run_program([seed]() -> Task<void> {
      P program(seed);
      std::vector<Handle<void>> tasks;
      for (std::size_t who = 0; who < kTasks; ++who) {
        tasks.push_back(spawn(&P::work, &program, who));
      }
      auto end = spawn(&P::end, &program);
      co_await gather(tasks);
      co_await end;
    });
  }
}

TEST(SyncValuesModel, AWatchTellsTheNewestValueToEveryReader) { run_seeds<WatchProgram>(); }

TEST(SyncValuesModel, ABroadcastTellsEveryValueThatIsKept) { run_seeds<BroadcastProgram>(); }

TEST(SyncValuesModel, ARateLimiterServesInTurnAndToTheNanosecond) { run_seeds<LimiterProgram>(); }

}  // namespace sync_values_model_test
}  // namespace tiffany::test

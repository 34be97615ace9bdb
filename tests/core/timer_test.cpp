#include "tiffany/core/timer.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "support/harness.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany {
namespace timer_test {

using namespace std::chrono_literals;
using test::Trace;

// A timer that writes down that it fired.
class Alarm : public Timer {
 public:
  Alarm(int number, std::vector<int>& fired) noexcept
      : Timer(&Alarm::on_time), number_(number), fired_(fired) {}
  int number() const { return number_; }

 private:
  static void on_time(Scheduler&, Timer& timer) noexcept {
    auto& alarm = static_cast<Alarm&>(timer);
    alarm.fired_.push_back(alarm.number_);
  }
  int number_;
  std::vector<int>& fired_;
};

class TimerWheelTest : public ::testing::Test {
 protected:
  Alarm& make() { return alarms_.emplace_back(static_cast<int>(alarms_.size()), fired_); }
  Alarm& arm(Time deadline) {
    Alarm& alarm = make();
    wheel_.arm(alarm, deadline);
    return alarm;
  }
  std::vector<int> fire(Time now) {
    fired_.clear();
    wheel_.fire_due(scheduler_, now);
    return fired_;
  }

  Scheduler scheduler_{Options().virtual_time()};  // only handed through to the timers
  std::vector<int> fired_;
  std::deque<Alarm> alarms_;
  TimerWheel wheel_{Time()};
};

using Numbers = std::vector<int>;

TEST_F(TimerWheelTest, T7_FiresByDeadlineAndNotBeforeIt) {
  arm(Time(30ms));
  arm(Time(10ms));
  arm(Time(20ms));
  EXPECT_EQ(wheel_.size(), 3u);
  EXPECT_EQ(fire(Time(10ms) - 1ns), Numbers());
  EXPECT_EQ(fire(Time(10ms)), Numbers({1}));
  EXPECT_EQ(fire(Time(1h)), Numbers({2, 0}));
  EXPECT_EQ(wheel_.size(), 0u);
}

TEST_F(TimerWheelTest, T7_EqualDeadlinesFireInTheOrderTheyWereArmed) {
  // Armed at different times of the wheel, so that they came to their slot from different levels.
  arm(Time(1s));
  arm(Time(999ms));
  fire(Time(500ms));
  arm(Time(1s));
  fire(Time(999'999us));
  arm(Time(1s));
  fire(Time(1s) - 1ns);
  arm(Time(1s));
  EXPECT_EQ(fire(Time(1s)), Numbers({0, 2, 3, 4}));
}

TEST_F(TimerWheelTest, ADeadlineInThePastIsDueBehindWhatIsDueAlready) {
  fire(Time(5ms));
  arm(Time(5ms));
  arm(Time(1ms));
  arm(Time(5ms));
  EXPECT_EQ(fire(Time(5ms)), Numbers({0, 1, 2}));
}

// Rulings: a time that has passed goes through the timers like zero. A virtual clock starts at
// zero, so `now() - 1s` is a negative number there.
TEST_F(TimerWheelTest, ADeadlineBeforeTheStartOfTheClockIsDueAtOnce) {
  arm(Time(1ms));
  arm(Time(-1s));
  EXPECT_EQ(wheel_.next_until(kEndOfTime), Time());
  EXPECT_EQ(fire(Time()), Numbers({1}));
  EXPECT_EQ(fire(Time(1ms)), Numbers({0}));
}

TEST_F(TimerWheelTest, ADeadlineBeforeTheStartOfTheClockDoesNotDisturbLaterOnes) {
  arm(Time(-1s));
  fire(Time());
  arm(Time(3ms));
  arm(Time(2ms));
  arm(Time(1ms));
  EXPECT_EQ(fire(Time(10ms)), Numbers({3, 2, 1}));
}

TEST_F(TimerWheelTest, I4_ACancelledTimerNeitherFiresNorCounts) {
  Alarm& a = arm(Time(1ms));
  Alarm& b = arm(Time(2ms));
  arm(Time(3ms));
  EXPECT_TRUE(a.armed());
  wheel_.cancel(a);
  EXPECT_FALSE(a.armed());
  wheel_.cancel(b);
  wheel_.cancel(b);  // harmless
  EXPECT_EQ(wheel_.size(), 1u);
  EXPECT_EQ(wheel_.next_until(kEndOfTime), Time(3ms));
  EXPECT_EQ(fire(Time(3ms)), Numbers({2}));
}

TEST_F(TimerWheelTest, AFiredTimerCanBeArmedAgain) {
  Alarm& a = arm(Time(1ms));
  EXPECT_EQ(fire(Time(1ms)), Numbers({0}));
  EXPECT_FALSE(a.armed());
  wheel_.arm(a, Time(2ms));
  EXPECT_EQ(a.deadline(), Time(2ms));
  EXPECT_EQ(fire(Time(2ms)), Numbers({0}));
}

TEST_F(TimerWheelTest, FarDeadlinesAndTheEndOfTimeAreKeptApart) {
  arm(kEndOfTime);
  arm(Time(24h * 365 * 200));
  arm(kEndOfTime - 1ns);
  arm(kEndOfTime);
  arm(Time(1ns));
  EXPECT_EQ(fire(Time(24h * 365 * 200) - 1ns), Numbers({4}));
  EXPECT_EQ(wheel_.next_until(kEndOfTime), Time(24h * 365 * 200));
  EXPECT_EQ(fire(Time(24h * 365 * 200)), Numbers({1}));
  EXPECT_EQ(wheel_.next_until(kEndOfTime - 2ns), std::nullopt);
  EXPECT_EQ(fire(kEndOfTime - 1ns), Numbers({2}));
  EXPECT_EQ(fire(kEndOfTime), Numbers({0, 3}));
  EXPECT_EQ(wheel_.size(), 0u);
}

TEST_F(TimerWheelTest, NextUntilIsExactAndRespectsItsLimit) {
  EXPECT_EQ(wheel_.next_until(kEndOfTime), std::nullopt);
  arm(Time(1s));
  arm(Time(1s + 1ns));
  EXPECT_EQ(wheel_.next_until(Time(1s) - 1ns), std::nullopt);
  EXPECT_EQ(wheel_.next_until(Time(1s)), Time(1s));
  EXPECT_EQ(wheel_.next_until(kEndOfTime), Time(1s));
  EXPECT_EQ(fire(Time(1s)), Numbers({0}));
  EXPECT_EQ(wheel_.next_until(kEndOfTime), Time(1s + 1ns));
  fire(kEndOfTime);
}

TEST_F(TimerWheelTest, TheHintIsNeverLateAndComesToTheFirstDeadline) {
  EXPECT_EQ(wheel_.next_hint(), std::nullopt);
  arm(Time(3h));
  arm(Time(3h + 1ms));
  int looks = 0;
  while (fired_.empty()) {
    const auto hint = wheel_.next_hint();
    ASSERT_TRUE(hint.has_value());
    ASSERT_LE(*hint, Time(3h));
    fire(*hint);
    ASSERT_LE(++looks, 9) << "a sleeper would be woken more often than once per level";
  }
  EXPECT_EQ(fired_, Numbers({0}));
  fire(kEndOfTime);
}

// Rearms itself for a time that is due already, three times.
TEST_F(TimerWheelTest, ATimerArmedWhileFiringForADueTimeFiresInTheSameCallBehindTheOthers) {
  struct Rearming : Timer {
    Rearming(TimerWheel& w, Trace& t) noexcept : Timer(&Rearming::on_time), wheel(w), trace(t) {}
    static void on_time(Scheduler&, Timer& timer) noexcept {
      auto& self = static_cast<Rearming&>(timer);
      self.trace.push_back("again");
      if (++self.times < 3) self.wheel.arm(self, self.deadline());
    }
    TimerWheel& wheel;
    Trace& trace;
    int times = 0;
  };
  struct Once : Timer {
    explicit Once(Trace& t) noexcept : Timer(&Once::on_time), trace(t) {}
    static void on_time(Scheduler&, Timer& timer) noexcept {
      static_cast<Once&>(timer).trace.push_back("once");
    }
    Trace& trace;
  };
  Trace trace;
  Rearming rearming(wheel_, trace);
  Once once(trace);
  wheel_.arm(rearming, Time(1ms));
  wheel_.arm(once, Time(1ms));
  wheel_.fire_due(scheduler_, Time(1ms));
  EXPECT_EQ(trace, Trace({"again", "once", "again", "again"}));
}

// ---- Against a model ----

// What the wheel promises, the slow way: a map from the deadline to what was armed, in that order.
class Model {
 public:
  void arm(int number, Time deadline) {
    where_[number] = timers_.emplace(std::max(deadline, now_), number);
  }
  void cancel(int number) {
    timers_.erase(where_.at(number));
    where_.erase(number);
  }
  bool armed(int number) const { return where_.contains(number); }
  std::optional<Time> next() const {
    if (timers_.empty()) return std::nullopt;
    return timers_.begin()->first;
  }
  Numbers fire(Time now) {
    Numbers fired;
    while (!timers_.empty() && timers_.begin()->first <= now) {
      fired.push_back(timers_.begin()->second);
      where_.erase(fired.back());
      timers_.erase(timers_.begin());
    }
    now_ = now;
    return fired;
  }
  std::size_t size() const { return timers_.size(); }
  Time now() const { return now_; }

 private:
  std::multimap<Time, int> timers_;  // equal keys stay in the order of insertion
  std::map<int, std::multimap<Time, int>::iterator> where_;
  Time now_{};
};

class TimerModelTest : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(TimerModelTest, T7_RandomArmCancelAndAdvanceFireInTheOrderOfASortedMap) {
  Random random(GetParam(), "timer model");
  Scheduler scheduler(Options().virtual_time());
  std::vector<int> fired;
  std::deque<Alarm> alarms;
  for (int i = 0; i < 300; ++i) alarms.emplace_back(i, fired);
  TimerWheel wheel{Time()};
  Model model;

  // Time stays well before its end while the test runs.
  constexpr Time kLastTime(24h * 365 * 100);
  // Distances over all levels of the wheel; small ranges make equal deadlines frequent.
  const auto distance = [&] {
    const std::uint64_t bits = random.below(60);
    return Duration(static_cast<Duration::rep>(random.below(std::uint64_t{1} << bits)));
  };
  for (int round = 0; round < 4000; ++round) {
    const auto at = random.below(alarms.size());
    Alarm& alarm = alarms[at];
    ASSERT_EQ(alarm.armed(), model.armed(alarm.number()));
    switch (random.below(8)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        if (alarm.armed()) break;
        Time deadline = detail::saturating_add(model.now(), distance());
        if (random.below(50) == 0) deadline = kEndOfTime;
        if (random.below(10) == 0 && model.next()) deadline = *model.next();
        wheel.arm(alarm, deadline);
        model.arm(alarm.number(), deadline);
        break;
      }
      case 4:
      case 5:
        if (!alarm.armed()) break;
        wheel.cancel(alarm);
        model.cancel(alarm.number());
        break;
      case 6: {  // as a virtual clock does it: to the next deadline, or to the limit
        const Time limit = detail::saturating_add(model.now(), distance());
        if (limit > kLastTime) break;
        std::optional<Time> expected = model.next();
        if (expected && *expected > limit) expected.reset();
        ASSERT_EQ(wheel.next_until(limit), expected);
        fired.clear();
        wheel.fire_due(scheduler, expected.value_or(limit));
        ASSERT_EQ(fired, model.fire(expected.value_or(limit)));
        break;
      }
      default: {  // as a real clock does it: to some time
        const Time now = detail::saturating_add(model.now(), distance() / 64);
        if (now > kLastTime) break;
        if (const auto hint = wheel.next_hint()) {
          ASSERT_TRUE(model.next().has_value());
          ASSERT_LE(*hint, *model.next());
        }
        fired.clear();
        wheel.fire_due(scheduler, now);
        ASSERT_EQ(fired, model.fire(now));
        break;
      }
    }
    ASSERT_EQ(wheel.size(), model.size());
  }
  fired.clear();
  wheel.fire_due(scheduler, kEndOfTime);
  EXPECT_EQ(fired, model.fire(kEndOfTime));
  EXPECT_EQ(wheel.size(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, TimerModelTest, ::testing::Range<std::uint64_t>(1, 31));

}  // namespace timer_test
}  // namespace tiffany

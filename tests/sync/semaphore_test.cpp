#include "tiffany/sync/semaphore.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/harness.hpp"

namespace tiffany {
namespace semaphore_test {

using namespace test;

TEST(Semaphore, SoManyAtATimeInTheOrderTheyAsked) {
  run_program([]() -> Task<void> {
    Semaphore printers(2);
    Trace trace;
    const auto print = [&](std::string name) -> Task<void> {
      const auto permit = co_await printers.acquire();
      trace.push_back("+" + name);
      co_await sleep(1ms);
      trace.push_back("-" + name);
    };
    auto a = spawn(std::ref(print), "a");
    auto b = spawn(std::ref(print), "b");
    auto c = spawn(std::ref(print), "c");
    co_await gather(a, b, c);
    EXPECT_EQ(trace, Trace({"+a", "+b", "-a", "-b", "+c", "-c"}));
    EXPECT_EQ(printers.available(), 2u);
    EXPECT_EQ(printers.permits(), 2u);
  });
}

TEST(Semaphore, WhoAsksForManyIsNotOvertakenByThoseWhoAskForFew) {
  run_program([]() -> Task<void> {
    Semaphore seats(3);
    Trace trace;
    const auto sit = [&](std::string name, std::size_t count) -> Task<void> {
      const auto permit = co_await seats.acquire(count);
      trace.push_back(name + std::to_string(permit.count()));
      co_await sleep(1ms);
    };
    auto a = spawn(std::ref(sit), "a", 2u);
    auto b = spawn(std::ref(sit), "b", 3u);
    auto c = spawn(std::ref(sit), "c", 1u);
    co_await yield();
    EXPECT_EQ(seats.available(), 1u) << "one is free, and c does not get it before b";
    EXPECT_FALSE(seats.try_acquire().has_value());
    co_await gather(a, b, c);
    EXPECT_EQ(trace, Trace({"a2", "b3", "c1"}));
  });
}

TEST(Semaphore, ACancelledWaiterLetsThoseBehindItGoOn) {
  run_program([]() -> Task<void> {
    Semaphore seats(2);
    auto held = co_await seats.acquire();
    const auto sit = [&](std::size_t count) -> Task<void> {
      const auto permit = co_await seats.acquire(count);
    };
    auto many = spawn(std::ref(sit), 2u);
    auto few = spawn(std::ref(sit), 1u);
    co_await yield();
    EXPECT_EQ(few.state(), TaskState::blocked);
    many.cancel();
    EXPECT_EQ(few.state(), TaskState::ready) << "it had only waited behind the other";
    co_await few;
    EXPECT_EQ(seats.available(), 1u);
  });
}

TEST(Semaphore, PermitsAreGivenBackOnceAndCanBeMoved) {
  run_program([]() -> Task<void> {
    Semaphore seats(3);
    auto permit = co_await seats.acquire(2);
    Semaphore::Permit other = std::move(permit);
    EXPECT_FALSE(permit);
    EXPECT_EQ(permit.count(), 0u);
    permit.release();
    EXPECT_EQ(seats.available(), 1u);
    other.release();
    other.release();
    EXPECT_EQ(seats.available(), 3u);
    auto tried = seats.try_acquire(3);
    EXPECT_TRUE(tried.has_value());
    EXPECT_FALSE(seats.try_acquire().has_value());
    other = std::move(*tried);
    other = Semaphore::Permit();
    EXPECT_EQ(seats.available(), 3u);
  });
}

TEST(Semaphore, NumbersThatMakeNoSenseAreErrors) {
  EXPECT_EQ(code_of(thrown_by([] { Semaphore none(0); })), Errc::bad_argument);
  Semaphore two(2);
  EXPECT_EQ(code_of(thrown_by([&] { static_cast<void>(two.acquire(0)); })), Errc::bad_argument);
  const auto error = thrown_by([&] { static_cast<void>(two.acquire(3)); });
  EXPECT_EQ(code_of(error), Errc::bad_argument);
  EXPECT_NE(what_of(error).find("asked for 3 permits of a semaphore that has 2"),
            std::string::npos);
  EXPECT_EQ(code_of(thrown_by([&] { two.try_acquire(3); })), Errc::bad_argument);
}

}  // namespace semaphore_test
}  // namespace tiffany

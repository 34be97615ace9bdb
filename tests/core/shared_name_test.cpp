// A name that several tasks have, and what becomes of it when a task gets more than a name.
#include "tiffany/core/shared_name.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/harness.hpp"
#include "tiffany/core/store.hpp"

namespace tiffany {
namespace shared_name_test {

using namespace test;

constexpr StateKey<int> kNumber{"number"};

Task<void> naps() { co_await sleep(1h); }

TEST(SharedName, IsTheNameOfEachTaskAndIsGoneWithTheLast) {
  const Ref<SharedName> name = SharedName::make("order");
  const auto program = [&]() -> Task<void> {
    auto one = spawn(naps).named(name);
    auto other = spawn(naps).named(name);
    EXPECT_EQ(one.name(), "order");
    EXPECT_EQ(other.name(), "order");
    EXPECT_NE(Scheduler::current()->dump_text().find("\"order\""), std::string::npos);
    one.named("first");
    EXPECT_EQ(one.name(), "first");
    EXPECT_EQ(other.name(), "order");
    one.cancel("enough");
    other.cancel("enough");
    EXPECT_EQ(other.name(), "order") << "beside why the task was cancelled";
    co_await one.outcome();
    co_await other.outcome();
    EXPECT_EQ(other.name(), "order") << "after the end of the task";
  };
  run_program(std::ref(program));
  EXPECT_EQ(name->text(), "order");
}

TEST(SharedName, StaysBesideWhatATaskInheritsOrSets) {
  const Ref<SharedName> name = SharedName::make("order");
  const auto program = [&]() -> Task<void> {
    const auto body = []() -> Task<std::string> {
      put(kNumber, 1);
      tell("it has begun");
      co_await yield();
      co_return std::string(Scheduler::current()->running()->name());
    };
    auto task = spawn(std::ref(body)).named(name);
    EXPECT_EQ(co_await task, "order");
  };
  run_program(std::ref(program));
}

}  // namespace shared_name_test
}  // namespace tiffany

// I8: ids never come back, and what refers to a task that is gone says so.
#include "tiffany/core/task_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <type_traits>

#include "support/harness.hpp"

namespace tiffany {
namespace task_table_test {

using namespace test;

Task<int> seven() { co_return 7; }
Task<void> nothing() { co_return; }
Task<void> forever(Future<int> never) { static_cast<void>(co_await never); }

TEST(TaskId, I8_IsSixtyFourBitsAndPrintsSlotAndGeneration) {
  static_assert(sizeof(TaskId) == 8);
  EXPECT_EQ(TaskId(7, 1).text(), "#7");
  EXPECT_EQ(TaskId(7, 2).text(), "#7.2");
  EXPECT_EQ(TaskId(7, 2).slot(), 7u);
  EXPECT_EQ(TaskId(7, 2).generation(), 2u);
  EXPECT_FALSE(TaskId());
  EXPECT_TRUE(TaskId(1, 1));
  EXPECT_NE(TaskId(7, 1), TaskId(7, 2));
}

TEST(TaskId, I8_IsNeverUsedTwice) {
  const auto program = []() -> Task<void> {
    std::set<TaskId> seen;
    for (int i = 0; i < 2000; ++i) {
      auto a = spawn(nothing);
      auto b = spawn(nothing);
      EXPECT_TRUE(seen.insert(a.id()).second);
      EXPECT_TRUE(seen.insert(b.id()).second);
      co_await b;
      co_await a;
    }
  };
  run_program(program);
}

TEST(TaskId, I8_FirstTasksAreNumberedInTheOrderOfSpawning) {
  const auto program = []() -> Task<void> {
    auto a = spawn(nothing);
    auto b = spawn(nothing);
    EXPECT_EQ(this_task::id(), TaskId(1, 1));
    EXPECT_EQ(a.id(), TaskId(2, 1));
    EXPECT_EQ(b.id(), TaskId(3, 1));
    co_return;
  };
  run_program(program);
}

// Of no engine.
class BareRecord final : public TaskRecord {
 public:
  void* begin(Scheduler&) override { return nullptr; }
  void drop_code() noexcept override {}
  void drop_value() noexcept override {}
  void visit_frames(FrameVisitor&) const override {}
  void set_id(TaskId id) noexcept { id_ = id; }
};

// What a record is in the middle of its construction.
class HalfARecord final : public Waitable {
 public:
  HalfARecord() : Waitable(0) {}
  std::exception_ptr error() const override { return nullptr; }
  std::string describe() const override { return "half a record"; }

 private:
  void dispose() noexcept override {}
};

TEST(TaskTable, ASignalHandlerSeesARecordOnlyWhenItIsMade) {
  Scheduler scheduler(Options().virtual_time());
  TaskTable table(scheduler.arena());
  const auto seen = [&] {
    std::set<TaskId> ids;
    EXPECT_TRUE(table.for_each_whole([&](TaskRecord& record) { ids.insert(record.id()); }));
    return ids;
  };
  const auto make = [&](const TaskTable::Slot& slot) {
    (new (slot.memory) BareRecord())->set_id(slot.id);
    table.made();
  };
  const TaskTable::Slot first = table.take();
  EXPECT_TRUE(seen().empty());
  new (first.memory) HalfARecord();
  EXPECT_TRUE(seen().empty());
  make(first);
  EXPECT_EQ(seen(), std::set{first.id});
  const TaskTable::Slot second = table.take();
  new (second.memory) HalfARecord();
  EXPECT_EQ(seen(), std::set{first.id});
  table.give_back(second.memory, second.id);
  EXPECT_EQ(seen(), std::set{first.id});
  table.give_back(first.memory, first.id);
  EXPECT_TRUE(seen().empty());
  const TaskTable::Slot again = table.take();
  ASSERT_EQ(again.memory, first.memory);
  new (again.memory) HalfARecord();
  EXPECT_TRUE(seen().empty());
  make(again);
  EXPECT_EQ(seen(), std::set{again.id});
  table.give_back(again.memory, again.id);
}

TEST(TaskTable, I8_FindKnowsATaskWhileItLivesOrAHandleDoes) {
  Scheduler scheduler(Options().virtual_time());
  auto handle = scheduler.spawn(seven);
  const TaskId id = handle.id();
  ASSERT_NE(scheduler.find(id), nullptr);
  EXPECT_EQ(scheduler.find(id)->id(), id);
  EXPECT_EQ(scheduler.find(id)->state(), TaskState::pending);
  scheduler.run();
  ASSERT_NE(scheduler.find(id), nullptr) << "the handle keeps the result";
  EXPECT_EQ(scheduler.find(id)->state(), TaskState::completed);
  handle = {};
  EXPECT_EQ(scheduler.find(id), nullptr);
  EXPECT_EQ(scheduler.find(TaskId()), nullptr);
  EXPECT_EQ(scheduler.find(TaskId(4'000'000'000u, 1)), nullptr);
  expect_nothing_left(scheduler);
}

TEST(TaskTable, I8_AnOldIdDoesNotFindTheNewTaskInItsSlot) {
  Scheduler scheduler(Options().virtual_time());
  const TaskId old = scheduler.spawn(seven).id();
  scheduler.run();
  auto handle = scheduler.spawn(seven);
  ASSERT_EQ(handle.id().slot(), old.slot()) << "this test needs the slot to be used again";
  EXPECT_EQ(scheduler.find(old), nullptr);
  EXPECT_FALSE(scheduler.cancel(old));
  EXPECT_NE(scheduler.find(handle.id()), nullptr);
  scheduler.run();
  EXPECT_EQ(handle.state(), TaskState::completed) << "the cancel with the old id went elsewhere";
}

TEST(TaskTable, T9_CancelByIdSaysWhetherSuchATaskIsAlive) {
  const auto program = []() -> Task<void> {
    Scheduler& scheduler = *Scheduler::current();
    Promise<int> never;
    auto victim = spawn(forever, never.future());
    auto finished = spawn(nothing);
    co_await finished;
    EXPECT_FALSE(scheduler.cancel(finished.id())) << "it has ended";
    EXPECT_EQ(finished.state(), TaskState::completed);
    EXPECT_TRUE(scheduler.cancel(victim.id(), "by id"));
    const auto outcome = co_await victim.outcome();
    EXPECT_TRUE(outcome.cancelled());
    EXPECT_NE(what_of(outcome.error()).find("by id"), std::string::npos);
    const TaskId id = victim.id();
    victim = {};
    EXPECT_FALSE(scheduler.cancel(id)) << "it is gone";
  };
  run_program(program);
}

TEST(Handle, I8_AnEmptyHandleIsAClearErrorWhateverIsAskedOfIt) {
  const auto program = []() -> Task<void> {
    Handle<int> empty;
    EXPECT_FALSE(empty);
    EXPECT_EQ(code_of(thrown_by([&] { static_cast<void>(empty.id()); })), Errc::stale_handle);
    EXPECT_EQ(code_of(thrown_by([&] { static_cast<void>(empty.state()); })), Errc::stale_handle);
    EXPECT_EQ(code_of(thrown_by([&] { static_cast<void>(empty.done()); })), Errc::stale_handle);
    EXPECT_EQ(code_of(thrown_by([&] { static_cast<void>(empty.name()); })), Errc::stale_handle);
    EXPECT_EQ(code_of(thrown_by([&] { empty.named("x"); })), Errc::stale_handle);
    EXPECT_EQ(code_of(thrown_by([&] { empty.cancel(); })), Errc::stale_handle);
    const auto awaited = co_await error_of(empty);
    EXPECT_EQ(code_of(awaited), Errc::stale_handle);
    std::exception_ptr gathered;
    auto good = spawn(seven);
    try {
      co_await gather(good, empty);
    } catch (...) {
      gathered = std::current_exception();
    }
    EXPECT_EQ(code_of(gathered), Errc::stale_handle);
    co_await good;
  };
  run_program(program);
}

TEST(Handle, I8_AMovedFromHandleIsEmpty) {
  const auto program = []() -> Task<void> {
    auto a = spawn(seven);
    auto b = std::move(a);
    EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): that is what is tested
    EXPECT_TRUE(b);
    const auto error = co_await error_of(a);
    EXPECT_EQ(code_of(error), Errc::stale_handle);
    const int value = co_await b;
    EXPECT_EQ(value, 7);
  };
  run_program(program);
}

TEST(Future, I8_AnEmptyFutureIsAClearError) {
  const auto program = []() -> Task<void> {
    Future<int> empty;
    EXPECT_FALSE(empty);
    EXPECT_EQ(code_of(thrown_by([&] { static_cast<void>(empty.done()); })), Errc::stale_handle);
    const auto error = co_await error_of(empty);
    EXPECT_EQ(code_of(error), Errc::stale_handle);
  };
  run_program(program);
}

TEST(Handle, T10_AFailureThatNobodyLookedAtIsReportedAlsoWhenTheHandleOutlivesTheScheduler) {
  Handle<int> first;
  Handle<int> second;
  {
    Scheduler scheduler(Options().virtual_time());
    const auto fail = []() -> Task<int> {
      co_await yield();
      throw std::runtime_error("as planned");
    };
    scheduler.spawn(seven);
    scheduler.run();
    first = scheduler.spawn(fail).named("fetch");
    second = scheduler.spawn(fail);
    scheduler.run();
  }
  ::testing::internal::CaptureStderr();
  first = {};
  second = {};
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "task #1.2 \"fetch\" failed and nobody looked at the error\n"
            "task #2 failed and nobody looked at the error\n");
}

TEST(Handle, I8_OutlivesItsSchedulerWithItsResult) {
  Handle<int> number;
  Handle<std::string> text;
  Handle<void> parked;
  Handle<int> failed;
  {
    Scheduler scheduler(Options().virtual_time());
    number = scheduler.spawn(seven).named("seven");
    const auto make_text = []() -> Task<std::string> { co_return std::string(100, 'x'); };
    text = scheduler.spawn(make_text);
    const auto fail = []() -> Task<int> {
      co_await yield();
      throw std::runtime_error("as planned");
    };
    failed = scheduler.spawn(fail);
    const auto park = []() -> Task<void> { co_await sleep(1h); };
    parked = scheduler.spawn(park);
    scheduler.run_until(Time(1s));
    failed.waitable().mark_observed();
  }
  const TaskId id = number.id();
  EXPECT_EQ(id, TaskId(1, 1));
  EXPECT_EQ(number.name(), "seven");
  EXPECT_EQ(number.state(), TaskState::completed);
  EXPECT_EQ(number.value(false), 7);
  EXPECT_EQ(text.value(false), std::string(100, 'x'));
  EXPECT_EQ(failed.state(), TaskState::failed);
  EXPECT_EQ(what_of(failed.waitable().error()), "as planned");
  EXPECT_EQ(parked.state(), TaskState::cancelled);
  EXPECT_EQ(code_of(parked.waitable().error()), Errc::task_cancelled);
  number.cancel();  // a no-op
  parked.cancel();
  EXPECT_EQ(number.state(), TaskState::completed);
  const Handle<int> copy = number;
  number = {};
  EXPECT_EQ(copy.value(false), 7);
}

TEST(Handle, I8_AwaitedUnderAnotherSchedulerAfterItsOwnIsGone) {
  Handle<int> handle;
  {
    Scheduler scheduler(Options().virtual_time());
    handle = scheduler.spawn(seven);
    scheduler.run();
  }
  const auto program = [&]() -> Task<void> {
    const int value = co_await handle;
    EXPECT_EQ(value, 7);
    const auto both = co_await gather(handle, handle);
    EXPECT_EQ(both.get<0>() + both.get<1>(), 14);
  };
  run_program(program);
}

}  // namespace task_table_test
}  // namespace tiffany

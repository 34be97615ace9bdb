#include "tiffany/observe/pal.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tiffany/base/json_reader.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::pal_test {

using observe::Pal;
using observe::PalEvent;
using observe::PalFilter;
using observe::PalFrame;
using observe::PalKind;
using observe::PalOptions;
using observe::PalSubscription;
namespace stage = observe::stage;
using namespace std::chrono_literals;

const Uuid kTask = *Uuid::parse("6d0f0000-0000-4000-8000-000000000001");

std::vector<PalFrame> all_of(PalSubscription& reader) {
  std::vector<PalFrame> all;
  while (auto frame = reader.try_next()) all.push_back(std::move(*frame));
  return all;
}
PalFilter of_task(const Uuid& task) {
  PalFilter filter;
  filter.task = task;
  return filter;
}

TEST(Pal, AnEventHasTheFourFieldsOfItsSchemaFirst) {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn([]() -> Task<void> {
    co_await sleep(1500ms);
    Pal pal;
    PalSubscription reader = pal.subscribe(PalFilter());
    PalEvent event(kTask, stage::kToolExecutionStart, "Running \"shell\"");
    event.tid = this_task::id();
    pal.emit(event, [](JsonWriter& data) { data.member("skill", "shell"); });
    const auto frames = all_of(reader);
    EXPECT_EQ(frames.size(), 2u);
    EXPECT_EQ(frames.at(0).type, PalFrame::Type::snapshot);
    EXPECT_EQ(*frames.at(1).text,
              R"({"ts":"1970-01-01T00:00:01.500000Z",)"
              R"("task_id":"6d0f0000-0000-4000-8000-000000000001","stage":"ToolExecutionStart",)"
              R"("message":"Running \"shell\"","seq":1,"kind":"agent","tid":1,"vt":1500000000,)"
              R"("data":{"skill":"shell"}})");
  });
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
}

TEST(Pal, NumbersOfAChannelHaveNoGapsAndChannelsDoNotShareThem) {
  Pal pal;
  PalSubscription reader = pal.subscribe(of_task(kTask));
  PalEvent runtime(Uuid(), stage::kLint, "", PalKind::runtime);
  for (int i = 1; i <= 3; ++i) {
    pal.emit(PalEvent(kTask, stage::kIdle));
    pal.emit(runtime);
  }
  const auto frames = all_of(reader);
  ASSERT_EQ(frames.size(), 4u);
  for (std::size_t i = 1; i <= 3; ++i) {
    EXPECT_NE(frames[i].text->find("\"seq\":" + std::to_string(i) + ","), std::string::npos);
  }
}

TEST(Pal, AFullQueueDropsTheOldestAndSaysHowMany) {
  PalOptions options;
  options.queue = 3;
  Pal pal(options);
  PalSubscription reader = pal.subscribe(PalFilter());
  for (int i = 0; i < 10; ++i) pal.emit(PalEvent(kTask, stage::kIdle));
  const auto frames = all_of(reader);
  ASSERT_EQ(frames.size(), 5u);
  EXPECT_EQ(frames[1].type, PalFrame::Type::lagged);
  EXPECT_EQ(*frames[1].text, R"({"type":"lagged","dropped":7,"next_seq":8})");
  EXPECT_NE(frames[2].text->find("\"seq\":8,"), std::string::npos);
  EXPECT_EQ(reader.dropped(), 7u);
  EXPECT_EQ(pal.counts().dropped, 7u);
}

TEST(Pal, AReaderThatComesBackGoesOnBehindWhatItHasSeen) {
  Pal pal;
  std::string seen;
  {
    PalSubscription reader = pal.subscribe(PalFilter());
    pal.emit(PalEvent(kTask, stage::kIdle, "one"));
    seen = all_of(reader).back().id;
  }
  pal.emit(PalEvent(kTask, stage::kIdle, "two"));
  pal.emit(PalEvent(kTask, stage::kIdle, "three"));
  PalSubscription back = pal.subscribe(PalFilter(), seen);
  const auto frames = all_of(back);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_NE(frames[0].text->find("two"), std::string::npos);
  EXPECT_NE(frames[1].text->find("three"), std::string::npos);
  PalSubscription up_to_date = pal.subscribe(PalFilter(), frames[1].id);
  EXPECT_FALSE(up_to_date.try_next().has_value());
}

TEST(Pal, AnIdThatIsNotKeptOrNeverWasBeginsWithASnapshot) {
  PalOptions options;
  options.keep = 2;
  options.snapshot = [](JsonWriter& out, const PalFilter&) { out.member("tasks", 7); };
  Pal pal(options);
  PalSubscription first = pal.subscribe(PalFilter());
  pal.emit(PalEvent(kTask, stage::kIdle));
  const std::string old = all_of(first).back().id;
  for (int i = 0; i < 5; ++i) pal.emit(PalEvent(kTask, stage::kIdle));
  for (const std::string& id :
       {old, std::string("nonsense"), std::string("1-1"), old.substr(0, old.find('-')) + "-99",
        old.substr(0, old.find('-')) + "-", old + "x"}) {
    PalSubscription reader = pal.subscribe(PalFilter(), id);
    const auto frames = all_of(reader);
    ASSERT_EQ(frames.size(), 1u) << id;
    EXPECT_EQ(frames[0].type, PalFrame::Type::snapshot);
    EXPECT_NE(frames[0].text->find("\"tasks\":7"), std::string::npos);
  }
}

TEST(Pal, EventsOfTheSchedulerCostNoTextUnlessSomebodyReadsThem) {
  Pal pal;
  int made = 0;
  const auto data = [&made](JsonWriter&) { ++made; };
  PalSubscription reader = pal.subscribe(PalFilter());
  const PalEvent event(kTask, stage::kYield, "", PalKind::sched);
  pal.emit(event, data);
  EXPECT_EQ(made, 0);
  EXPECT_FALSE(pal.wanted(PalKind::sched));
  PalFilter all;
  all.sched = true;
  PalSubscription other = pal.subscribe(all);
  pal.emit(event, data);
  EXPECT_EQ(made, 1);
  EXPECT_EQ(all_of(reader).size(), 1u);
  EXPECT_NE(all_of(other).at(1).text->find("\"seq\":2,"), std::string::npos);
  EXPECT_EQ(pal.counts().events[1], 2u);
}

TEST(Pal, EachKindHasNumbersOfItsOwnSoThatAReaderOfOneSeesNoGaps) {
  Pal pal;
  PalSubscription reader = pal.subscribe(PalFilter());
  for (int i = 0; i < 3; ++i) {
    pal.emit(PalEvent(kTask, stage::kIdle));
    pal.emit(PalEvent(kTask, stage::kYield, "", PalKind::sched));
  }
  const auto frames = all_of(reader);
  ASSERT_EQ(frames.size(), 4u);
  EXPECT_NE(frames[3].text->find("\"seq\":3,"), std::string::npos);
}

TEST(Pal, ChannelsEndWithTheirTaskAlsoWhenNobodyReads) {
  PalOptions options;
  options.keep = 0;
  Pal pal(options);
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const Uuid task = Uuid::random(random);
    pal.emit(PalEvent(task, stage::kIdle));
    pal.emit(PalEvent(task, stage::kDone, "", PalKind::sched));
    EXPECT_EQ(pal.counts().channels, 1u);
    pal.emit(PalEvent(task, stage::kCompleted));
    EXPECT_EQ(pal.counts().channels, 0u);
    const Uuid other = Uuid::random(random);
    pal.emit(PalEvent(other, stage::kYield, "", PalKind::sched));
    pal.emit(PalEvent(other, stage::kPanic, "", PalKind::sched));
    EXPECT_EQ(pal.counts().channels, 0u);
  }
}

TEST(Pal, AQueueOfNothingIsOneOfOne) {
  PalOptions options;
  options.queue = 0;
  Pal pal(options);
  PalSubscription reader = pal.subscribe(PalFilter());
  pal.emit(PalEvent(kTask, stage::kIdle));
  pal.emit(PalEvent(kTask, stage::kIdle));
  EXPECT_EQ(all_of(reader).size(), 3u);  // snapshot, lagged, the last one
}

TEST(Pal, ASubscriptionMayBeMovedOrGoWhileItsNextWaits) {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn([]() -> Task<void> {
    Pal pal;
    std::vector<PalSubscription> readers;
    readers.push_back(pal.subscribe(PalFilter()));
    readers[0].try_next();
    auto waits = spawn(
        [](PalSubscription* of) -> Task<bool> {
          const auto frame = co_await of->next();
          co_return frame.has_value();
        },
        &readers[0]);
    co_await yield();
    for (int i = 0; i < 10; ++i) readers.push_back(pal.subscribe(PalFilter()));
    pal.emit(PalEvent(kTask, stage::kIdle));
    EXPECT_TRUE(co_await waits);
    readers[0].try_next();
    auto second = spawn(
        [](PalSubscription* of) -> Task<bool> {
          const auto frame = co_await of->next();
          co_return frame.has_value();
        },
        &readers[0]);
    co_await yield();
    readers.clear();
    EXPECT_FALSE(co_await second);
  });
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
}

TEST(Pal, DataThatThrowsIsAnEventWithout) {
  Pal pal;
  PalSubscription reader = pal.subscribe(PalFilter());
  pal.emit(PalEvent(kTask, stage::kIdle), [](JsonWriter& data) {
    data.member("half", 1);
    throw std::runtime_error("no");
  });
  const auto frames = all_of(reader);
  EXPECT_TRUE(frames.at(1).text->ends_with("\"data\":{}}")) << *frames.at(1).text;
}

TEST(Pal, ALongMessageIsCutWhereACharacterBegins) {
  Pal pal;
  PalSubscription reader = pal.subscribe(PalFilter());
  std::string message(511, 'x');
  message += "\xc3\xa4 and more";
  pal.emit(PalEvent(kTask, stage::kIdle, message));
  const std::string text = *all_of(reader).at(1).text;
  EXPECT_NE(text.find("\"message\":\"" + std::string(511, 'x') + "\""), std::string::npos);
  EXPECT_NO_THROW(compact_json(text));
}

TEST(Pal, AReaderWaitsAndIsWokenAndEndsWithItsHub) {
  Scheduler scheduler(Options().virtual_time());
  auto pal = std::make_unique<Pal>();
  std::vector<std::string> got;
  scheduler.spawn(
      [](Pal* from, std::vector<std::string>* to) -> Task<void> {
        PalSubscription reader = from->subscribe(PalFilter());
        while (auto frame = co_await reader.next()) to->push_back(*frame->text);
      },
      pal.get(), &got);
  scheduler.spawn(
      [](std::unique_ptr<Pal>* hub) -> Task<void> {
        co_await sleep(1s);
        (*hub)->emit(PalEvent(kTask, stage::kIdle, "first"));
        co_await sleep(1s);
        (*hub)->emit(PalEvent(kTask, stage::kIdle, "last"));
        hub->reset();
      },
      &pal);
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
  ASSERT_EQ(got.size(), 3u);
  EXPECT_NE(got[2].find("last"), std::string::npos);
}

TEST(Pal, ACancelledReaderLosesNothing) {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn([]() -> Task<void> {
    Pal pal;
    PalSubscription reader = pal.subscribe(PalFilter());
    EXPECT_TRUE((co_await within(1s, reader.next())).has_value());
    EXPECT_TRUE((co_await within(1s, reader.next())).timed_out());
    pal.emit(PalEvent(kTask, stage::kIdle, "after"));
    const auto frame = co_await reader.next();
    EXPECT_NE(frame->text->find("after"), std::string::npos);
  });
  scheduler.run();
  EXPECT_EQ(scheduler.counters().failed, 0u);
}

TEST(Pal, AThousandReadersComeAndGoAndLeaveNothing) {
  Pal pal;
  for (int round = 0; round < 10; ++round) {
    std::vector<PalSubscription> readers;
    for (int i = 0; i < 1000; ++i) readers.push_back(pal.subscribe(PalFilter()));
    pal.emit(PalEvent(kTask, stage::kIdle));
    EXPECT_EQ(pal.counts().subscribers, 1000u);
  }
  EXPECT_EQ(pal.counts().subscribers, 0u);
  EXPECT_EQ(pal.counts().channels, 1u);
  pal.emit(PalEvent(kTask, stage::kCompleted));
  EXPECT_EQ(pal.counts().channels, 0u);
}

}  // namespace tiffany::pal_test

#include "tiffany/observe/event_trace.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tiffany/base/json_reader.hpp"
#include "tiffany/observe/scheduler_stages.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::event_trace_test {

using namespace std::chrono_literals;
using observe::Recorder;

Options silent() {
  return Options().virtual_time().log_to([](const LogLine&) {});
}

using Members = std::map<std::string, std::string>;  // of an object, with the values as they are

Members members_of(JsonReader& in) {
  Members members;
  in.begin_object();
  for (std::string name; in.next_member(name);) members[name] = std::string(in.raw());
  return members;
}

// The elements of "traceEvents". Throws for what is no JSON.
std::vector<Members> elements_of(const std::string& file) {
  std::vector<Members> all;
  JsonReader in(file);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (name != "traceEvents") {
      in.raw();
      continue;
    }
    in.begin_array();
    while (in.next_element()) all.push_back(members_of(in));
  }
  in.end();
  return all;
}

Task<void> mixed(int depth) {
  co_await yield();
  co_await sleep(1ms);
  if (depth > 0) {
    auto child = spawn(mixed, depth - 1);
    auto stuck = spawn([]() -> Task<void> { co_await sleep(1h); });
    co_await child;
    stuck.cancel();
  }
  if (depth == 0) throw std::runtime_error("no");
}

TEST(EventTrace, HasWhatTheFormatAsksForAndEachWaitAndWakeHasTwoEnds) {
  Scheduler scheduler(silent());
  Recorder recorder(scheduler);
  recorder.start();
  scheduler.spawn(mixed, 4).named("root");
  scheduler.run();
  const std::string text = observe::trace_file(recorder);
  std::map<std::string, std::size_t> phases;
  for (Members& each : elements_of(text)) {
    const std::string phase = each["ph"].substr(1, 1);
    ++phases[phase];
    EXPECT_EQ(each["pid"], "1");
    EXPECT_GT(each["name"].size(), 2u);
    EXPECT_EQ(each.contains("ts"), phase != "M");
    EXPECT_EQ(each.contains("dur"), phase == "X");
    EXPECT_EQ(each.contains("id"), phase == "b" || phase == "e" || phase == "s" || phase == "f");
  }
  const observe::EventRing& ring = recorder.ring();
  EXPECT_GT(ring.count(), 50u);
  EXPECT_EQ(phases["X"], scheduler.counters().runs);
  EXPECT_EQ(phases["b"], scheduler.counters().parks);
  EXPECT_EQ(phases["e"], phases["b"]);
  EXPECT_EQ(phases["s"], phases["f"]);
  EXPECT_GE(phases["s"], 4u);
  EXPECT_GT(phases["C"], 0u);
  EXPECT_EQ(phases["i"], scheduler.counters().failed);
  EXPECT_GT(phases["M"], 4u);
  EXPECT_NE(text.find("\"root #1\""), std::string::npos);
}

TEST(EventTrace, OfARingThatHasLostMostIsStillWhole) {
  observe::RecorderOptions options;
  options.events = 16;
  Scheduler scheduler(silent());
  Recorder recorder(scheduler, options);
  recorder.start();
  scheduler.spawn(mixed, 6);
  scheduler.run();
  std::map<std::string, int> phases;
  for (Members& each : elements_of(observe::trace_file(recorder)))
    ++phases[each["ph"].substr(1, 1)];
  EXPECT_GT(phases["X"], 0);
  EXPECT_EQ(phases["b"], phases["e"]);
  EXPECT_EQ(phases["s"], phases["f"]);
}

TEST(EventTrace, OfNothingIsAnEmptyFile) {
  Scheduler scheduler(silent());
  const Recorder recorder(scheduler);
  EXPECT_TRUE(elements_of(observe::trace_file(recorder)).empty());
}

// ---- Stages ----

std::vector<std::string> stages_told(observe::PalSubscription& from) {
  std::vector<std::string> stages;
  while (const auto frame = from.try_next()) {
    if (frame->type != observe::PalFrame::Type::event) continue;
    JsonReader in(*frame->text);
    const std::string stage = members_of(in)["stage"];
    stages.push_back(stage.substr(1, stage.size() - 2));
  }
  return stages;
}

TEST(SchedulerStages, AreToldToWhoSubscribesToThem) {
  Scheduler scheduler(silent());
  Recorder recorder(scheduler);
  observe::Pal pal;
  std::vector<std::string> stages;
  const auto program = [](Recorder* r, observe::Pal* p,
                          std::vector<std::string>* out) -> Task<void> {
    auto teller = spawn(observe::tell_stages, r, p, Duration(10ms)).daemon();
    co_await sleep(25ms);
    EXPECT_FALSE(r->on()) << "nobody looks";
    observe::PalFilter filter;
    filter.sched = true;
    filter.runtime = filter.agent = false;
    {
      observe::PalSubscription reader = p->subscribe(filter);
      co_await sleep(10ms);
      EXPECT_TRUE(r->on());
      auto child = spawn([]() -> Task<void> { co_await sleep(1ms); });
      co_await child;
      co_await sleep(20ms);
      *out = stages_told(reader);
    }
    co_await sleep(20ms);
    EXPECT_FALSE(r->on()) << "nobody looks any more";
  };
  scheduler.spawn(program, &recorder, &pal, &stages);
  scheduler.run();
  const std::vector<std::string> expected = {"Wake", "Spawn", "JoinWait", "Sleep",
                                             "Wake", "Done",  "Wake",     "Sleep"};
  EXPECT_EQ(stages, expected);
}

TEST(SchedulerStages, SayWhenTheyHappened) {
  observe::Pal pal;
  observe::PalFilter filter;
  filter.sched = true;
  observe::PalSubscription reader = pal.subscribe(filter);
  static_cast<void>(reader.try_next());
  observe::Event event;
  event.kind = observe::EventKind::wake;
  event.task = TaskId(7, 1);
  event.by = TaskId(3, 1);
  event.at = 1234;
  event.duration = 99;
  event.detail = static_cast<std::uint8_t>(WaitKind::sleep) | observe::Event::kCancelled;
  EXPECT_TRUE(observe::tell_stage(event, pal));
  const auto frame = reader.try_next();
  ASSERT_TRUE(frame);
  const std::string& text = *frame->text;
  EXPECT_NE(text.find("\"stage\":\"Wake\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"vt\":1234"), std::string::npos) << text;
  EXPECT_NE(text.find("\"data\":{\"by\":\"cancel\",\"by_tid\":3,\"wait_ns\":99}"),
            std::string::npos)
      << text;
  event.kind = observe::EventKind::run;
  EXPECT_FALSE(observe::tell_stage(event, pal));
}

}  // namespace tiffany::event_trace_test

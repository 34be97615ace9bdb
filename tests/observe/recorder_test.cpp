#include "tiffany/observe/recorder.hpp"

#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tiffany/io/pipe.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::recorder_test {

using namespace std::chrono_literals;
using observe::Event;
using observe::EventKind;
using observe::EventReader;
using observe::Recorder;
using observe::RecorderOptions;

Options silent() {
  return Options().virtual_time().log_to([](const LogLine&) {});
}

std::vector<Event> all_of(const Recorder& recorder) {
  EventReader reader(recorder.ring());
  std::vector<Event> all;
  std::array<Event, 64> some;
  while (const std::size_t count = reader.read(some)) {
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  }
  EXPECT_EQ(reader.dropped(), 0u);
  return all;
}

std::vector<std::string> texts(const Recorder& recorder) {
  std::vector<std::string> lines;
  for (const Event& each : all_of(recorder)) lines.push_back(each.text());
  return lines;
}

using Lines = std::vector<std::string>;

// Runs what `begin` spawns into the scheduler, and gives the events.
template <class Begin>
Lines recorded(Begin begin, Options options = silent()) {
  Scheduler scheduler(std::move(options));
  Recorder recorder(scheduler);
  recorder.start();
  begin(scheduler);
  scheduler.run();
  EXPECT_EQ(all_of(recorder).back().ready, 0u) << "in the end no task is ready";
  return texts(recorder);
}

Task<void> naps() { co_await sleep(1ms); }
Task<void> returns() { co_return; }

TEST(Recorder, ATaskThatReturns) {
  EXPECT_EQ(recorded([](Scheduler& s) { s.spawn(returns); }),
            (Lines{"admit #1", "run #1", "end #1 completed", "stop #1 ended"}));
}

TEST(Recorder, ATaskThatYields) {
  const auto twice = []() -> Task<void> {
    co_await yield();
    co_await yield();
  };
  EXPECT_EQ(recorded([&](Scheduler& s) { s.spawn(twice); }),
            (Lines{"admit #1", "run #1", "stop #1 yielded", "run #1", "stop #1 yielded", "run #1",
                   "end #1 completed", "stop #1 ended"}));
}

TEST(Recorder, ATaskThatSleeps) {
  EXPECT_EQ(recorded([](Scheduler& s) { s.spawn(naps); }),
            (Lines{"admit #1", "run #1", "park #1 sleep (sleep)", "stop #1 waits", "wake #1 sleep",
                   "run #1", "end #1 completed", "stop #1 ended"}));
}

TEST(Recorder, AJoinIsWokenByTheTaskThatEnds) {
  const auto parent = []() -> Task<void> {
    auto child = spawn(returns);
    co_await child;
  };
  EXPECT_EQ(recorded([&](Scheduler& s) { s.spawn(parent); }),
            (Lines{"admit #1", "run #1", "admit #2 by #1", "park #1 join (join)", "stop #1 waits",
                   "run #2", "end #2 completed", "wake #1 join by #2", "stop #2 ended", "run #1",
                   "end #1 completed", "stop #1 ended"}));
}

TEST(Recorder, AWaitForAPipeIsOfTheKindIo) {
  const auto program = []() -> Task<void> {
    Pipe pipe = make_pipe();
    auto reads = spawn(
        [](ByteStream* from) -> Task<void> {
          std::array<std::byte, 4> room{};
          co_await from->read(room);
        },
        &pipe.read_end);
    co_await yield();
    const std::array<std::byte, 1> one{};
    co_await pipe.write_end.write(one);
    co_await reads;
  };
  Scheduler scheduler(Options().log_to([](const LogLine&) {}));
  Recorder recorder(scheduler);
  recorder.start();
  scheduler.spawn(program);
  scheduler.run();
  bool parked = false;
  bool woken = false;
  for (const Event& each : all_of(recorder)) {
    if (each.task.slot() != 2) continue;
    if (each.kind == EventKind::park) parked = each.text() == "park #2 read (io)";
    if (each.kind == EventKind::wake) woken = each.text() == "wake #2 io";
  }
  EXPECT_TRUE(parked);
  EXPECT_TRUE(woken);
}

TEST(Recorder, APromiseIsAnEventAndAnExternalPromiseIsExternal) {
  const auto program = []() -> Task<void> {
    Promise<int> inside;
    ExternalPromise<int> outside;
    spawn([](Future<int> f) -> Task<void> { co_await f; }, inside.future());
    spawn([](Future<int> f) -> Task<void> { co_await f; }, outside.future());
    co_await yield();
    inside.complete(1);
    outside.complete(1);
  };
  const Lines lines = recorded([&](Scheduler& s) { s.spawn(program); });
  const auto has = [&](std::string_view line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  };
  EXPECT_TRUE(has("park #2 join (event)"));
  EXPECT_TRUE(has("wake #2 event by #1"));
  EXPECT_TRUE(has("park #3 join (external)"));
  EXPECT_TRUE(has("wake #3 external"));
}

TEST(Recorder, AFailure) {
  const auto fails = []() -> Task<void> {
    throw std::runtime_error("no");
    co_return;
  };
  EXPECT_EQ(recorded([&](Scheduler& s) { s.spawn(fails); }),
            (Lines{"admit #1", "run #1", "end #1 failed", "stop #1 ended"}));
}

TEST(Recorder, ACancelBeforeTheTaskBegins) {
  EXPECT_EQ(recorded([](Scheduler& s) { s.spawn(naps).cancel(); }),
            (Lines{"admit #1", "cancel #1", "end #1 cancelled"}));
}

TEST(Recorder, ACancelWhileTheTaskWaits) {
  const auto program = []() -> Task<void> {
    auto child = spawn(naps);
    co_await yield();
    child.cancel();
  };
  EXPECT_EQ(recorded([&](Scheduler& s) { s.spawn(program); }),
            (Lines{"admit #1", "run #1", "admit #2 by #1", "stop #1 yielded", "run #2",
                   "park #2 sleep (sleep)", "stop #2 waits", "run #1", "cancel #2 by #1",
                   "wake #2 cancelled in sleep by #1", "end #1 completed", "stop #1 ended",
                   "run #2", "end #2 cancelled", "stop #2 ended"}));
}

TEST(Recorder, ACancelWhileTheTaskIsReadyAndWhileItRuns) {
  const auto yields = []() -> Task<void> {
    co_await yield();
    co_await yield();
  };
  EXPECT_EQ(recorded([&](Scheduler& s) {
              auto handle = s.spawn(yields);
              s.step();
              handle.cancel();
            }),
            (Lines{"admit #1", "run #1", "stop #1 yielded", "cancel #1", "run #1",
                   "end #1 cancelled", "stop #1 ended"}));
  const auto itself = []() -> Task<void> {
    this_task::cancel();
    co_await yield();
  };
  EXPECT_EQ(recorded([&](Scheduler& s) { s.spawn(itself); }),
            (Lines{"admit #1", "run #1", "cancel #1", "end #1 cancelled", "stop #1 ended"}));
}

TEST(Recorder, ACancelBehindAShieldIsToldWhenItIsAsked) {
  const auto shielded = []() -> Task<void> { co_await shield(naps()); };
  EXPECT_EQ(recorded([&](Scheduler& s) {
              auto handle = s.spawn(shielded);
              s.step();
              handle.cancel();
            }),
            (Lines{"admit #1", "run #1", "park #1 sleep (sleep)", "stop #1 waits", "cancel #1",
                   "wake #1 sleep", "run #1", "end #1 completed", "stop #1 ended"}));
}

TEST(Recorder, AThrottle) {
  const auto busy = []() -> Task<void> {
    co_await checkpoint();
    co_await checkpoint();
  };
  EXPECT_EQ(
      recorded([&](Scheduler& s) { s.spawn(busy); }, silent().quantum(1)),
      (Lines{"admit #1", "run #1", "throttle #1", "stop #1 throttled", "run #1", "throttle #1",
             "stop #1 throttled", "run #1", "end #1 completed", "stop #1 ended"}));
}

TEST(Recorder, ADenial) {
  const auto greedy = []() -> Task<void> {
    try {
      spawn(returns);
    } catch (const SpawnDenied&) {
    }
    co_return;
  };
  EXPECT_EQ(recorded([&](Scheduler& s) { s.spawn(greedy); }, silent().limit_tasks(1)),
            (Lines{"admit #1", "run #1", "deny tasks by #1", "end #1 completed", "stop #1 ended"}));
}

TEST(Recorder, ATaskThatComesAfterAnotherIsHeldAndReleased) {
  const auto program = []() -> Task<void> {
    auto first = spawn(returns);
    spawn.after(first)(returns);
    co_return;
  };
  EXPECT_EQ(
      recorded([&](Scheduler& s) { s.spawn(program); }),
      (Lines{"admit #1", "run #1", "admit #2 by #1", "admit #3 by #1", "hold #3 by #1",
             "end #1 completed", "stop #1 ended", "run #2", "end #2 completed", "release #3 by #2",
             "stop #2 ended", "run #3", "end #3 completed", "stop #3 ended"}));
}

TEST(Recorder, AShutdownCancelsAndEndsEachTask) {
  Scheduler scheduler(silent());
  Recorder recorder(scheduler);
  recorder.start();
  scheduler.spawn(naps);
  scheduler.spawn(naps);
  scheduler.step();
  scheduler.shutdown("enough");
  EXPECT_EQ(texts(recorder),
            (Lines{"admit #1", "admit #2", "run #1", "park #1 sleep (sleep)", "stop #1 waits",
                   "cancel #1", "wake #1 cancelled in sleep", "cancel #2", "end #2 cancelled",
                   "run #1", "end #1 cancelled", "stop #1 ended"}));
}

TEST(Recorder, ASchedulerThatGoesDropsItsTasksAndTheRecorderStays) {
  auto scheduler = std::make_unique<Scheduler>(silent());
  Recorder recorder(*scheduler);
  recorder.start();
  scheduler->spawn(naps);
  scheduler->step();
  scheduler.reset();
  EXPECT_FALSE(recorder.on());
  EXPECT_EQ(recorder.scheduler(), nullptr);
  EXPECT_EQ(texts(recorder).back(), "stop #1 ended");
  EXPECT_THROW(recorder.start(), Error);
}

TEST(Recorder, ASecondOneIsRefusedWhileTheFirstIsOn) {
  Scheduler scheduler(silent());
  Recorder first(scheduler);
  Recorder second(scheduler);
  first.start();
  first.start();
  EXPECT_THROW(second.start(), Error);
  first.stop();
  second.start();
  EXPECT_TRUE(second.on());
}

TEST(Recorder, SwitchedOnInTheMiddleItTellsWhatFollows) {
  Scheduler scheduler(silent());
  Recorder recorder(scheduler);
  const auto program = [](Recorder* r) -> Task<void> {
    r->start();
    co_await yield();
    r->stop();
    co_await yield();
    r->start();
    co_await yield();
  };
  scheduler.spawn(program, &recorder);
  scheduler.run();
  // Not the slice of start(), and of that of stop() only the beginning.
  EXPECT_EQ(texts(recorder), (Lines{"run #1", "run #1", "end #1 completed", "stop #1 ended"}));
}

// Everything but the slices in which it was switched is told: over the time that the recorder was
// on, events add up to what the counters have grown by.
TEST(Recorder, SwitchedOnAndOffAtRandomItLosesOnlyTheSlicesOfTheSwitch) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Scheduler scheduler(silent().seed(seed));
    Recorder recorder(scheduler);
    struct Sums {
      std::uint64_t admitted = 0, parks = 0, wakes = 0, ends = 0, runs = 0;
    };
    struct State {
      Scheduler* scheduler;
      Recorder* recorder;
      Random random;
      Counters at_start;
      Sums on;
      std::uint64_t switches = 0;
      void flip() {
        ++switches;
        const Counters now = scheduler->counters();
        if (!recorder->on()) {
          at_start = now;
          recorder->start();
          return;
        }
        recorder->stop();
        on.admitted += now.admitted - at_start.admitted;
        on.parks += now.parks - at_start.parks;
        on.wakes += now.wakes + now.withdrawn - at_start.wakes - at_start.withdrawn;
        const auto ends = [](const Counters& c) { return c.completed + c.failed + c.cancelled; };
        on.ends += ends(now) - ends(at_start);
        on.runs += now.runs - at_start.runs;
      }
    } state{&scheduler, &recorder, Random(seed, "flips"), Counters(), Sums(), 0};
    const auto works = [](State* s) -> Task<void> {
      for (int i = 0; i < 20; ++i) {
        switch (s->random.below(5)) {
          case 0:
            s->flip();
            break;
          case 1:
            spawn(naps);
            break;
          case 2: {
            auto child = spawn(naps);
            co_await yield();
            child.cancel();
            break;
          }
          case 3:
            co_await sleep(1us);
            break;
          default:
            co_await yield();
        }
      }
    };
    for (int i = 0; i < 5; ++i) scheduler.spawn(works, &state);
    scheduler.run();
    if (recorder.on()) state.flip();
    Sums told;
    for (const Event& each : all_of(recorder)) {
      told.admitted += each.kind == EventKind::admit ? 1 : 0;
      told.parks += each.kind == EventKind::park ? 1 : 0;
      told.wakes += each.kind == EventKind::wake ? 1 : 0;
      told.ends += each.kind == EventKind::end ? 1 : 0;
      told.runs += each.kind == EventKind::run ? 1 : 0;
    }
    EXPECT_EQ(told.admitted, state.on.admitted) << seed;
    EXPECT_EQ(told.parks, state.on.parks) << seed;
    EXPECT_EQ(told.wakes, state.on.wakes) << seed;
    EXPECT_EQ(told.ends, state.on.ends) << seed;
    EXPECT_EQ(told.runs, state.on.runs) << seed;
  }
}

TEST(Recorder, TimesAreThoseOfItsClock) {
  std::int64_t clock = 0;
  RecorderOptions options;
  options.clock = [&clock] { return Duration(clock); };
  Scheduler scheduler(silent());
  Recorder recorder(scheduler, options);
  recorder.start();
  const auto works = [](std::int64_t* time) -> Task<void> {
    *time += 5'000;
    co_await yield();
    *time += 70'000;
  };
  auto one = scheduler.spawn(works, &clock).named("worker");
  auto two = scheduler.spawn(works, &clock).named("worker");
  scheduler.run();
  ASSERT_EQ(recorder.classes().size(), 3u);
  const observe::ClassTimes& times = recorder.classes()[2];
  EXPECT_EQ(times.name, "worker");
  EXPECT_EQ(times.run.in_bucket[2], 2u) << "5 us is at most 16 us";
  EXPECT_EQ(times.run.in_bucket[4], 2u) << "70 us is at most 256 us";
  EXPECT_EQ(times.run.sum_ns, 150'000u);
  // Ready: 0 and 5 us before the first slices, 5 us and 70 us before the second ones.
  EXPECT_EQ(times.ready.sum_ns, 80'000u);
  EXPECT_EQ(times.completion.sum_ns, 80'000u + 150'000u);
  EXPECT_EQ(times.completion.in_bucket[0], 2u);
}

TEST(Recorder, ClassesAreBounded) {
  RecorderOptions options;
  options.most_classes = 3;
  Scheduler scheduler(silent());
  Recorder recorder(scheduler, options);
  recorder.start();
  for (int i = 0; i < 10; ++i) scheduler.spawn(returns).named("task " + std::to_string(i));
  scheduler.run();
  EXPECT_EQ(recorder.classes().size(), 5u);
  EXPECT_EQ(recorder.classes()[1].run.in_bucket[0], 7u) << "in the class other";
}

TEST(Recorder, TellsMetricsByClass) {
  observe::Metrics metrics;
  Scheduler scheduler(silent());
  Recorder recorder(scheduler);
  const auto guard = recorder.collect(metrics);
  recorder.start();
  scheduler.spawn(naps).named("nap");
  scheduler.run();
  const std::string text = metrics.text_now();
  for (const char* line :
       {"task_run_latency_seconds_count{class=\"nap\"} 2\n",
        "task_wait_time_seconds_count{class=\"nap\"} 2\n",
        "task_completion_latency_seconds_sum{class=\"nap\"} 0.001\n", "tiffany_events_total 8\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(EventRing, TellsEachReaderExactlyHowManyItMissed) {
  observe::EventRing ring(4);
  EventReader early(ring);
  Event event;
  std::array<Event, 3> some;
  for (int i = 0; i < 3; ++i) ring.push(event);
  EXPECT_EQ(early.read(some), 3u);
  EventReader late(ring);
  EventReader now(ring, EventReader::From::now);
  for (int i = 0; i < 10; ++i) ring.push(event);
  EXPECT_EQ(early.read(some), 3u);
  EXPECT_EQ(early.dropped(), 6u);
  EXPECT_EQ(some[0].number, 10u);
  EXPECT_EQ(early.read(some), 1u);
  EXPECT_EQ(some[0].number, 13u);
  EXPECT_EQ(early.read(some), 0u);
  EXPECT_EQ(late.read(some), 3u);
  EXPECT_EQ(late.dropped(), 9u);
  EXPECT_EQ(now.read(some), 3u);
  EXPECT_EQ(now.dropped(), 6u);
}

}  // namespace tiffany::recorder_test

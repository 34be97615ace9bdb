// Generated programs, run on the library and in the reference model: both must tell the same
// story.
//
// TIFFANY_MODEL_SEEDS=5000 runs seeds 0..4999; TIFFANY_MODEL_SEEDS=1234:1 runs seed 1234 alone,
// and prints its program and what the library made of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "model/generator.hpp"
#include "model/library_run.hpp"
#include "model/program.hpp"
#include "model/program_text.hpp"
#include "model/seen.hpp"
#include "model/statements.hpp"
#include "sanitized.hpp"
#include "tiffany/observe/recorder.hpp"

namespace model {
namespace model_test {

constexpr std::uint64_t kSeeds = 5000;  // fewer with the sanitizers

struct Seeds {
  std::uint64_t first = 0;
  std::uint64_t count = kSeeds;
};

Seeds seeds_asked_for(std::uint64_t count) {
  Seeds seeds;
  seeds.count = count / tiffany::test::kSlower;
  const char* const asked = std::getenv("TIFFANY_MODEL_SEEDS");
  if (asked == nullptr) return seeds;
  const std::string text = asked;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    seeds.count = std::stoull(text);
  } else {
    seeds.first = std::stoull(text.substr(0, colon));
    seeds.count = std::stoull(text.substr(colon + 1));
  }
  return seeds;
}

std::unique_ptr<tiffany::ReadyPolicy> order_for(Order order) {
  switch (order) {
    case Order::priority:
      break;
    case Order::fifo:
      return tiffany::fifo_order();
    case Order::depth_first:
      return tiffany::depth_first_order();
    case Order::longest_path:
      return tiffany::longest_path_order();
  }
  return nullptr;
}

tiffany::Options options_for(const Setup& setup) {
  tiffany::Options options = tiffany::Options()
                                 .virtual_time()
                                 .order(order_for(setup.order))
                                 .quantum(setup.quantum)
                                 .turn(setup.turn)
                                 .ageing(setup.ageing)
                                 .limit_tasks(setup.limit);
  for (const auto& [priority, quantum] : setup.quantum_of) {
    options = std::move(options).quantum_of(static_cast<std::uint8_t>(priority), quantum);
  }
  if (setup.system_failure_ends_run) {
    options = std::move(options).system_failure(tiffany::SystemFailure::end_run);
  }
  return options;
}

// One seed: the program and how it is run.
struct Case {
  explicit Case(std::uint64_t with) : seed(with) {
    Generator generator(seed);
    setup = generator.setup();
    program = generator.program();
  }
  std::string text() const {
    return "seed " + std::to_string(seed) + " (TIFFANY_MODEL_SEEDS=" + std::to_string(seed) +
           ":1), " + text_of(setup) + "\n" + text_of(program.primitives) + text_of(program.main);
  }
  std::uint64_t seed;
  Program program;
  Setup setup;
};

// Empty when they are equal; otherwise the first line that differs, with what led to it.
std::string difference(const Lines& library, const Lines& reference) {
  const auto [a, b] =
      std::mismatch(library.begin(), library.end(), reference.begin(), reference.end());
  if (a == library.end() && b == reference.end()) return {};
  std::string out;
  for (auto it = library.begin(); it != a; ++it) out += "    both: " + *it + "\n";
  const auto show = [&out](const char* who, auto it, auto end) {
    if (it == end) out += std::string(who) + "(the end)\n";
    for (int i = 0; i < 4 && it != end; ++i, ++it) out += who + *it + "\n";
  };
  show(" library: ", a, library.end());
  show("   model: ", b, reference.end());
  return out;
}

// Nothing may be left once the handles and promises of the program are gone.
void expect_clean(World& world) {
  for (const auto& handle : world.handles) {
    if (handle) {
      EXPECT_FALSE(handle.waitable().has_waiters());
    }
  }
  for (const auto& future : world.futures) {
    if (future) {
      EXPECT_FALSE(future.waitable().has_waiters());
    }
  }
  world.sync.let_go_of_all();
  EXPECT_TRUE(world.sync.unused());
  world.promises.clear();
  world.futures.clear();
  world.handles.clear();
  for (const auto& [id, task] : world.labels()) {
    EXPECT_EQ(world.scheduler.find(id), nullptr) << task_name(task);
  }
  EXPECT_EQ(world.scheduler.live_tasks(), 0u);
  EXPECT_EQ(world.scheduler.ready_len(), 0u);
  EXPECT_EQ(world.scheduler.armed_timers(), 0u);
  EXPECT_EQ(world.scheduler.arena().live_blocks(), 0u);
}

// What is stuck in a shield can only be dropped by force, together with the scheduler. Whether all
// of it goes is for the address sanitizer to say.
void prepare_teardown(World& world) {
  world.teardown = true;
  for (const auto& handle : world.handles) {
    if (handle) handle.waitable().mark_observed();  // no reports after the end
  }
}

void run_and_compare(const Case& one, Seen& seen) {
  SCOPED_TRACE(one.text());
  reference::Run run(one.program, one.setup);
  const Ending expected = reference::drive(run, one.program);

  World world(one.program, options_for(one.setup));
  const Ending ending = drive(world);
  seen.look_at(world.lines);
  EXPECT_EQ(difference(world.lines, run.machine.lines), "");
  EXPECT_EQ(ending, expected);
  EXPECT_EQ(difference(final_states(world), reference::final_states(run)), "");
  if (ending == Ending::stuck) return prepare_teardown(world);
  expect_clean(world);
  Lines expected_reports = reference::reported(run);
  std::sort(expected_reports.begin(), expected_reports.end());
  std::sort(world.reported.begin(), world.reported.end());
  EXPECT_EQ(world.reported, expected_reports);
}

void show(const Case& one) {
  World world(one.program, options_for(one.setup));
  const Ending ending = drive(world);
  std::cout << one.text();
  for (const std::string& line : world.lines) std::cout << "  " << line << "\n";
  for (const std::string& line : final_states(world)) std::cout << "  in the end " << line << "\n";
  std::cout << "  ending " << static_cast<int>(ending) << "\n";
  if (ending == Ending::stuck) prepare_teardown(world);
}

// That tasks have met at every kind of primitive, and came to what rarely happens there.
void expect_rare_cases(const Seen& seen) {
  const auto times = [](const std::map<std::string, std::size_t>& counts, const char* what) {
    const auto found = counts.find(what);
    return found == counts.end() ? 0 : found->second;
  };
  for (const char* what : {"send ", "receive from channel ", "receive up to ", "lock mutex ",
                           "lock shared mutex ", "acquire ", "wait for event ", "wait for latch ",
                           "arrive at barrier ", "race over [lock mutex ", "race over [acquire ",
                           "race over [receive from channel ", "notified at condition "}) {
    EXPECT_GT(times(seen.waited, what), 10u) << what;
  }
  for (const char* what : {"throws Error 160", "throws Error 161", "-> timed out", "-> not last",
                           "-> closed", "-> full", "-> nothing"}) {
    EXPECT_GT(times(seen.results, what), 10u) << what;
  }
}

TEST(Model, GeneratedProgramsBehaveAsTheRulingsSay) {
  const Seeds seeds = seeds_asked_for(kSeeds);
  Seen seen;
  for (std::uint64_t i = 0; i < seeds.count; ++i) {
    if (seeds.count == 1) show(Case(seeds.first));
    run_and_compare(Case(seeds.first + i), seen);
    // The first one says enough, and the others are probably the same.
    ASSERT_FALSE(HasFailure());
  }
  if (seeds.count >= kSeeds) expect_rare_cases(seen);
}

// Runs it to its end in whatever order the options say, and gives the hash of the trace.
std::uint64_t run_in_order(World& world) {
  const Ending ending = drive(world);
  const std::uint64_t hash = world.scheduler.trace_hash();
  if (ending == Ending::stuck) {
    prepare_teardown(world);
    return hash;
  }
  for (const auto& handle : world.handles) {
    if (handle) {
      EXPECT_TRUE(handle.done());
    }
  }
  expect_clean(world);
  return hash;
}

TEST(Model, SameSeedTwiceGivesTheSameTrace) {
  const Seeds seeds = seeds_asked_for(500);
  for (std::uint64_t i = 0; i < seeds.count; ++i) {
    const Case one(seeds.first + i);
    SCOPED_TRACE(one.text());
    World first(one.program, options_for(one.setup));
    World second(one.program, options_for(one.setup));
    EXPECT_EQ(run_in_order(first), run_in_order(second));
    EXPECT_EQ(difference(first.lines, second.lines), "");
    ASSERT_FALSE(HasFailure());
  }
}

// What the events of a run add up to, in the form of the counters.
tiffany::Counters sum_of(const tiffany::observe::EventRing& ring) {
  using tiffany::observe::EventKind;
  tiffany::Counters sum;
  tiffany::observe::EventReader reader(ring);
  tiffany::observe::Event event;
  std::uint32_t ready = 0;  // as the events say
  while (reader.read({&event, 1}) == 1) {
    const bool queued = event.kind == EventKind::stop && !is_final(event.state()) &&
                        event.state() != tiffany::TaskState::blocked;
    if (event.kind == EventKind::admit || event.kind == EventKind::release) ++ready;
    if (event.kind == EventKind::wake || queued) ++ready;
    if (event.kind == EventKind::run || event.kind == EventKind::hold) --ready;
    if (event.kind != EventKind::end) {
      EXPECT_EQ(event.ready, ready) << event.text();
    }
    ready = event.ready;  // a task that ends before it began leaves the queue
    const auto wait = static_cast<std::size_t>(event.wait());
    sum.admitted += event.kind == EventKind::admit ? 1 : 0;
    sum.runs += event.kind == EventKind::run ? 1 : 0;
    sum.cancels += event.kind == EventKind::cancel ? 1 : 0;
    sum.throttled += event.kind == EventKind::throttle ? 1 : 0;
    sum.denied += event.kind == EventKind::deny ? 1 : 0;
    if (event.kind == EventKind::hold) ++sum.held;
    if (event.kind == EventKind::release) --sum.held;
    if (event.kind == EventKind::park) ++sum.parks_by[wait];
    if (event.kind == EventKind::wake)
      ++(event.cancelled() ? sum.withdrawn_by : sum.wakes_by)[wait];
    if (event.kind != EventKind::end) continue;
    sum.completed += event.state() == tiffany::TaskState::completed ? 1 : 0;
    sum.failed += event.state() == tiffany::TaskState::failed ? 1 : 0;
    sum.cancelled += event.state() == tiffany::TaskState::cancelled ? 1 : 0;
  }
  EXPECT_EQ(reader.dropped(), 0u);
  return sum;
}

void expect_equal(const tiffany::Counters& told, const tiffany::Counters& counted) {
  EXPECT_EQ(told.admitted, counted.admitted);
  EXPECT_EQ(told.runs, counted.runs);
  EXPECT_EQ(told.cancels, counted.cancels);
  EXPECT_EQ(told.throttled, counted.throttled);
  EXPECT_EQ(told.denied, counted.denied);
  EXPECT_EQ(told.completed, counted.completed);
  EXPECT_EQ(told.failed, counted.failed);
  EXPECT_EQ(told.cancelled, counted.cancelled);
  for (std::size_t kind = 0; kind < tiffany::kWaitKinds; ++kind) {
    EXPECT_EQ(told.parks_by[kind], counted.parks_by[kind]) << kind;
    EXPECT_EQ(told.wakes_by[kind], counted.wakes_by[kind]) << kind;
    EXPECT_EQ(told.withdrawn_by[kind], counted.withdrawn_by[kind]) << kind;
  }
}

TEST(Model, ARecordedRunIsTheSameAndItsEventsAddUpToTheCounters) {
  const Seeds seeds = seeds_asked_for(2000);
  for (std::uint64_t i = 0; i < seeds.count; ++i) {
    const Case one(seeds.first + i);
    SCOPED_TRACE(one.text());
    const auto options = [&one, i] {
      tiffany::Options made = options_for(one.setup);
      if (i % 4 == 3) made = std::move(made).order(tiffany::random_order(one.seed));
      return made;
    };
    World plain(one.program, options());
    World recorded(one.program, options());
    tiffany::observe::Recorder recorder(recorded.scheduler);
    recorder.start();
    EXPECT_EQ(run_in_order(recorded), run_in_order(plain));
    EXPECT_EQ(difference(recorded.lines, plain.lines), "");
    expect_equal(sum_of(recorder.ring()), recorded.scheduler.counters());
    expect_equal(recorded.scheduler.counters(), plain.scheduler.counters());
    ASSERT_FALSE(HasFailure());
  }
}

// In an order that the model knows nothing of, every task still ends and nothing is left.
TEST(Model, EveryTaskEndsInAnyOrder) {
  const Seeds seeds = seeds_asked_for(1000);
  for (std::uint64_t i = 0; i < seeds.count; ++i) {
    const Case one(seeds.first + i);
    SCOPED_TRACE(one.text());
    World world(one.program, options_for(one.setup).order(tiffany::random_order(one.seed)));
    run_in_order(world);
    ASSERT_FALSE(HasFailure());
  }
}

TEST(Model, TheRecordedPicksOfARandomOrderRepeatIt) {
  const Seeds seeds = seeds_asked_for(500);
  for (std::uint64_t i = 0; i < seeds.count; ++i) {
    const Case one(seeds.first + i);
    SCOPED_TRACE(one.text());
    World first(one.program,
                options_for(one.setup).order(tiffany::random_order(one.seed)).record_picks());
    const std::uint64_t hash = run_in_order(first);
    World second(one.program,
                 options_for(one.setup).order(tiffany::recorded_order(first.scheduler.picks())));
    EXPECT_EQ(run_in_order(second), hash);
    EXPECT_EQ(difference(second.lines, first.lines), "");
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace model_test
}  // namespace model

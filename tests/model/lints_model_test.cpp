// Lints over generated programs: no task that goes on by itself is ever said to be in trouble, and
// in a program that is stuck every task is.
//
// TIFFANY_LINT_SEEDS=10000 runs seeds 0..9999; 1234:1 runs seed 1234 alone.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/generator.hpp"
#include "model/library_run.hpp"
#include "model/program_text.hpp"
#include "tiffany/observe/lints.hpp"
#include "tiffany/observe/recorder.hpp"

namespace model {
namespace lints_model_test {

using tiffany::observe::Event;
using tiffany::observe::EventKind;
using tiffany::observe::EventReader;
using tiffany::observe::Lint;
using tiffany::observe::Linter;
using tiffany::observe::LintKind;

tiffany::Options options_of(const Setup& setup) {
  return tiffany::Options()
      .virtual_time()
      .turn(1)
      .quantum(setup.quantum)
      .limit_tasks(setup.limit)
      .circles(tiffany::CirclePolicy::report);
}

// Enough for what happens between two looks.
tiffany::observe::RecorderOptions few_events() {
  tiffany::observe::RecorderOptions options;
  options.events = 1024;
  return options;
}

class Watcher {
 public:
  explicit Watcher(World& world)
      : scheduler_(world.scheduler),
        recorder_(world.scheduler, few_events()),
        linter_(world.scheduler, &recorder_),
        reader_(recorder_.ring(), EventReader::From::now) {
    recorder_.start();
  }

  // A task in a closed circle goes on only when a cancel has opened that, or whoever was handed a
  // lock.
  void look() {
    Event event;
    bool opened = false;
    while (reader_.read({&event, 1}) == 1) {
      if (!stuck_.contains(event.task)) continue;
      if (event.kind == EventKind::cancel) opened = true;
      if (event.kind != EventKind::wake) continue;
      // A guard may be handed to another task, which lets go of the lock.
      const bool handed =
          event.wait() == tiffany::WaitKind::event && event.by && !stuck_.contains(event.by);
      if (event.cancelled() || handed) opened = true;
      EXPECT_TRUE(opened) << event.text() << ", of which was said: " << stuck_[event.task];
    }
    EXPECT_EQ(reader_.dropped(), 0u);
    stuck_.clear();
    for (const Lint& lint : linter_.scan()) {
      EXPECT_EQ(lint.kind, LintKind::deadlock) << lint.text;
      stuck_[lint.task] = lint.text;
      ++deadlocks;
    }
  }

  // Nothing can happen any more.
  void look_at_the_end() {
    static_cast<void>(linter_.scan());
    std::set<tiffany::TaskId> lost;
    for (const Lint& lint : linter_.scan()) {
      if (lint.kind == LintKind::lost_wake) lost.insert(lint.task);
    }
    scheduler_.for_each_task([&](const tiffany::TaskRecord& task) {
      if (task.state() != tiffany::TaskState::blocked) return;
      EXPECT_TRUE(lost.contains(task.id())) << task.describe();
      ++losses;
    });
  }

  std::size_t deadlocks = 0;
  std::size_t losses = 0;

 private:
  tiffany::Scheduler& scheduler_;
  tiffany::observe::Recorder recorder_;
  Linter linter_;
  EventReader reader_;
  std::map<tiffany::TaskId, std::string> stuck_;  // what was said of each
};

TEST(LintsModel, NoTaskThatGoesOnIsSaidToBeInTrouble) {
  std::uint64_t first = 0;
  std::uint64_t count = 300;
  if (const char* const asked = std::getenv("TIFFANY_LINT_SEEDS")) {
    const std::string text = asked;
    const std::size_t colon = text.find(':');
    if (colon != std::string::npos) first = std::stoull(text.substr(0, colon));
    count = std::stoull(colon == std::string::npos ? text : text.substr(colon + 1));
  }
  std::size_t deadlocks = 0;
  std::size_t losses = 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    Generator generator(seed);
    const model::Setup setup = generator.setup();
    const Program program = generator.program();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text_of(program.primitives) +
                 text_of(program.main));
    World world(program, options_of(setup));
    tiffany::Scheduler& scheduler = world.scheduler;
    {
      Watcher watcher(world);
      world.handles[0] = scheduler.spawn(run_task, &world, &program.main, Place());
      world.know(world.handles[0].id(), 0);
      while (scheduler.live_tasks() > 0) {
        // One slice, or the place of a task that was cancelled before it began.
        const bool ran = scheduler.poll(tiffany::kEndOfTime);
        if (!ran && !scheduler.has_ready() && scheduler.armed_timers() == 0) break;
        watcher.look();
        ASSERT_FALSE(::testing::Test::HasFailure());
      }
      if (scheduler.live_tasks() > 0) watcher.look_at_the_end();
      deadlocks += watcher.deadlocks;
      losses += watcher.losses;
      ASSERT_FALSE(::testing::Test::HasFailure());
    }
    world.teardown = true;
    for (const auto& handle : world.handles) {
      if (handle) handle.waitable().mark_observed();
    }
    for (const auto& future : world.futures) {
      if (future) future.waitable().mark_observed();
    }
  }
  std::cout << count << " programs: " << deadlocks << " deadlocks seen, " << losses
            << " tasks that nothing could wake\n";
  if (count < 300) return;
  EXPECT_GT(deadlocks, 0u);
  EXPECT_GT(losses, 0u);
}

}  // namespace lints_model_test
}  // namespace model

// Runs a generated program on the real library and writes down what happened.
//
// Everything is a plain coroutine over parameters that outlive it, and everything awaited is
// either named or a plain call: the forms that GCC 12 compiles correctly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/library_plain.hpp"
#include "model/library_sync.hpp"
#include "model/library_waits.hpp"
#include "model/library_world.hpp"

namespace model {

// The blocks of statements that want a callable.
class ScopeBody {
 public:
  ScopeBody(World& world, const Block& block, Place place)
      : world_(world), block_(block), place_(place) {}
  tiffany::Task<int> operator()(tiffany::Scope& scope) const {
    return run_block(world_, block_, Place{place_.task, &scope});
  }

 private:
  World& world_;
  const Block& block_;
  Place place_;
};

// As the block of a first_success scope, which returns nothing.
class ContestBody {
 public:
  ContestBody(World& world, const Block& block, Place place) : body_(world, block, place) {}
  tiffany::Task<void> operator()(tiffany::Scope& scope) const { co_await body_(scope); }

 private:
  ScopeBody body_;
};

class ContextBody {
 public:
  ContextBody(World& world, const Block& block, Place place)
      : world_(world), block_(block), place_(place) {}
  tiffany::Task<int> operator()() const { return run_block(world_, block_, place_); }

 private:
  World& world_;
  const Block& block_;
  Place place_;
};

inline tiffany::Task<std::string> run_contest(World& world, const Statement& s, Place place) {
  std::vector<tiffany::Task<int>> operations;
  for (std::size_t i = 0; i < s.blocks.size(); ++i) {
    operations.push_back(run_task(&world, &s.blocks[i], Place{s.index + i, place.scope}));
  }
  tiffany::Task<tiffany::Won<int>> contest = s.op == Op::race_started
                                                 ? tiffany::race(std::move(operations))
                                                 : tiffany::any(std::move(operations));
  const tiffany::Won<int> won = co_await std::move(contest);
  co_return text_of_race(won.index, won.value, 0);
}

inline tiffany::Task<std::string> run_attempt(World& world, const Statement& s, Place place) {
  std::string result;
  try {
    const int value = co_await run_block(world, s.blocks[0], place);
    result = "value " + std::to_string(value);
  } catch (const std::exception&) {
    result = "caught " + world.text_of(std::current_exception());
  } catch (const tiffany::Cancelled&) {
    if (!s.flag) throw;
    result = "caught " + world.text_of(std::current_exception());
  }
  co_return result;
}

// The statements that run a block of their own within the same task.
inline tiffany::Task<std::string> run_nested(World& world, const Statement& s, Place place) {
  const Block& block = s.blocks[0];
  int value = 0;
  if (s.op == Op::within) {
    const tiffany::Timed<int> timed =
        co_await tiffany::within(tiffany::Duration(s.delay), run_block(world, block, place));
    co_return text_of(timed);
  }
  if (s.op == Op::with) {
    const ContextBody body(world, block, place);
    value = co_await tiffany::with(kContext[s.key], s.number, body);
  } else if (s.op == Op::shield) {
    value = co_await tiffany::shield(run_block(world, block, place));
  } else {
    value = co_await run_block(world, block, place);
  }
  co_return "value " + std::to_string(value);
}

inline tiffany::Task<std::string> run_scope(World& world, const Statement& s, Place place) {
  if (s.policy == Policy::first_success) {
    const ContestBody body(world, s.blocks[0], place);
    const tiffany::TaskId winner = co_await tiffany::scope(tiffany::first_success, body);
    co_return "winner " + world.label(winner);
  }
  const ScopeBody body(world, s.blocks[0], place);
  int value = 0;
  if (s.policy == Policy::collect_all) {
    value = co_await tiffany::scope(tiffany::collect_all, body);
  } else {
    value = co_await tiffany::scope(body);
  }
  co_return "value " + std::to_string(value);
}

// ---- Supervision ----

inline tiffany::Task<void> run_child(World* world, const Statement* s, std::size_t number,
                                     Place place, int* starts) {
  world->know(tiffany::this_task::id(), place.task);
  world->note(place.task, "starts");
  const int start = ++*starts;
  if (start >= kTooManyStarts) co_return;
  co_await run_block(*world, s->blocks[number], place);
  if (start <= s->supervision.children[number].failures) {
    throw std::runtime_error(error_name(s->number));
  }
}

inline tiffany::Supervision supervision_for(const Supervision& how) {
  tiffany::RestartStrategy strategy = tiffany::RestartStrategy::one_for_one;
  if (how.strategy == Strategy::one_for_all) strategy = tiffany::RestartStrategy::one_for_all;
  if (how.strategy == Strategy::rest_for_one) strategy = tiffany::RestartStrategy::rest_for_one;
  return tiffany::Supervision(strategy)
      .intensity(static_cast<std::uint32_t>(how.restarts), tiffany::Duration(how.period))
      .backoff(tiffany::Duration(how.first_wait), tiffany::Duration(how.longest_wait))
      .priority(static_cast<std::uint8_t>(how.priority));
}

inline tiffany::Task<std::string> run_supervise(World& world, const Statement& s, Place place) {
  std::vector<int> starts(s.blocks.size());
  const auto fill = [&](tiffany::Supervisor& supervisor) {
    for (std::size_t i = 0; i < s.blocks.size(); ++i) {
      const Place inside{s.index + i, place.scope};
      const std::string name = task_name(inside.task);
      const Restart restart = s.supervision.children[i].restart;
      if (restart == Restart::permanent) {
        supervisor.permanent(name, run_child, &world, &s, i, inside, &starts[i]);
      } else if (restart == Restart::transient) {
        supervisor.transient(name, run_child, &world, &s, i, inside, &starts[i]);
      } else {
        supervisor.temporary(name, run_child, &world, &s, i, inside, &starts[i]);
      }
    }
  };
  const tiffany::Supervision how = supervision_for(s.supervision);
  co_await tiffany::supervise(how, fill);
  co_return "done";
}

// ---- Everything together ----

inline tiffany::Task<std::string> run_statement(World& world, const Statement& s, Place place) {
  switch (s.op) {
    case Op::await:
    case Op::outcome:
    case Op::within_target:
    case Op::shield_target: {
      Present target(world, s.targets);
      if (target.none()) co_return "none";
      if (s.targets[0].promise) co_return co_await run_wait(world, s, target.futures[0]);
      co_return co_await run_wait(world, s, target.handles[0]);
    }
    case Op::take:
      if (!world.handles[s.index]) co_return "none";
      co_return co_await run_wait(world, s, std::move(world.handles[s.index]));
    case Op::gather:
      co_return co_await run_gather(Present(world, s.targets));
    case Op::all_settled:
      co_return co_await run_all_settled(world, Present(world, s.targets));
    case Op::race:
      co_return co_await run_race(Present(world, s.targets));
    case Op::race_started:
    case Op::any_started:
      co_return co_await run_contest(world, s, place);
    case Op::scope:
      co_return co_await run_scope(world, s, place);
    case Op::supervise:
      co_return co_await run_supervise(world, s, place);
    case Op::within:
    case Op::shield:
    case Op::call:
    case Op::with:
      co_return co_await run_nested(world, s, place);
    case Op::attempt:
      co_return co_await run_attempt(world, s, place);
    case Op::cancel_join: {
      if (!world.handles[s.index]) co_return "none";
      const std::string why = "s" + std::to_string(s.id);
      const tiffany::Outcome<int> outcome =
          co_await tiffany::cancel_and_join(world.handles[s.index], why);
      co_return world.text_of(outcome);
    }
    case Op::sync:
    case Op::sync_within:
    case Op::sync_race:
    case Op::hold:
    case Op::hold_notified:
      co_return co_await run_sync(world, s, place);
    case Op::sleep:
      co_await tiffany::sleep(tiffany::Duration(s.delay));
      co_return "done";
    case Op::yield:
      co_await tiffany::yield();
      co_return "done";
    case Op::checkpoint:
      co_await tiffany::checkpoint();
      co_return "done";
    default:
      co_return run_plain(world, s, place);
  }
}

inline tiffany::Task<int> run_block(World& world, const Block& block, Place place) {
  const Leaving leaving(world, place.task, block.id);
  for (const Statement& s : block.statements) {
    const std::string name = "s" + std::to_string(s.id) + " ";
    world.note(place.task, name + text_of(s));
    if (s.op == Op::give) co_return s.number;
    std::string result;
    try {
      result = co_await run_statement(world, s, place);
    } catch (...) {
      world.note(place.task, name + "throws " + world.text_of(std::current_exception()));
      throw;
    }
    world.note(place.task, name + "-> " + result);
  }
  co_return 0;
}

inline Ending drive(World& world) {
  world.handles[0] = world.scheduler.spawn(run_task, &world, &world.program().main, Place());
  world.know(world.handles[0].id(), 0);
  for (const Ending ending : {Ending::complete, Ending::shut_down}) {
    try {
      if (ending == Ending::complete) world.scheduler.run();
      if (ending == Ending::shut_down) world.scheduler.shutdown("the end");
      return ending;
    } catch (const tiffany::Deadlock&) {
      world.lines.push_back("deadlock of " + std::to_string(world.scheduler.live_tasks()));
    } catch (const tiffany::SystemTaskFailed& failed) {
      world.lines.push_back("system task " + world.label(failed.failure().task) +
                            " failed: " + world.text_of(failed.failure().error));
      return Ending::system_failed;
    }
  }
  return Ending::stuck;
}

// The state that every task with a handle has in the end, and what was counted.
inline Lines final_states(const World& world) {
  Lines lines;
  for (std::size_t i = 0; i < world.handles.size(); ++i) {
    const tiffany::Handle<int>& handle = world.handles[i];
    if (!handle) continue;
    std::string line = task_name(i) + " " + name_of(handle.state());
    if (handle.state() == tiffany::TaskState::completed) {
      line += " " + std::to_string(handle.value(false));
    } else if (handle.done()) {
      line += " " + world.text_of(handle.waitable().error());
    }
    lines.push_back(line);
  }
  lines.push_back("slices " + std::to_string(world.scheduler.slices()));
  lines.push_back("denied " + std::to_string(world.scheduler.counters().denied));
  for (int priority = 0; priority < 256; ++priority) {
    const auto times = world.scheduler.throttled(static_cast<std::uint8_t>(priority));
    if (times == 0) continue;
    lines.push_back("throttled " + std::to_string(priority) + ": " + std::to_string(times));
  }
  lines.push_back("primitives" + world.text_of_primitives());
  return lines;
}

}  // namespace model

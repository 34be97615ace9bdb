// Runs a generated program on the real library and writes down what happened.
//
// Everything is a plain coroutine over parameters that outlive it, and everything awaited is
// either named or a plain call: the forms that GCC 12 compiles correctly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/program.hpp"
#include "tiffany/tiffany.hpp"

namespace model {

using Lines = std::vector<std::string>;

// What the tasks of one run share.
class World {
 public:
  World(const Program& program, tiffany::Options options)
      : program_(program),
        handles(program.tasks),
        futures(program.promises),
        promises(program.promises),
        scheduler(std::move(options).log_to(
            [this](const tiffany::LogLine& line) { reported.push_back(label(line.task)); })) {}

  void note(std::size_t task, const std::string& text) {
    const auto now = scheduler.now().time_since_epoch().count();
    lines.push_back(std::to_string(now) + " " + task_name(task) + " " + text);
  }
  void know(tiffany::TaskId id, std::size_t task) { labels_[id] = task; }
  std::string label(tiffany::TaskId id) const {
    if (!id) return "nobody";
    const auto found = labels_.find(id);
    return found == labels_.end() ? "t?" : task_name(found->second);
  }
  std::string text_of(const tiffany::CancelReason& reason) const {
    std::string out = std::string(name_of(reason.cause)) + " by " + label(reason.requester);
    if (reason.cause == tiffany::CancelCause::requested) out += ": " + reason.message;
    return out;
  }
  std::string text_of(const std::exception_ptr& error) const {
    try {
      std::rethrow_exception(error);
    } catch (const tiffany::Cancelled& cancelled) {
      return "Cancelled(" + text_of(cancelled.reason()) + ")";
    } catch (const tiffany::TaskCancelled& cancelled) {
      return "TaskCancelled(" + label(cancelled.task()) + " " + text_of(*cancelled.reason()) + ")";
    } catch (const tiffany::ScopeCancelled& cancelled) {
      return "ScopeCancelled(" + text_of(cancelled.reason()) + ")";
    } catch (const tiffany::AllFailed& failed) {
      std::string out = "AllFailed(";
      for (const std::exception_ptr& one : failed.errors()) out += text_of(one) + ";";
      return out + ")";
    } catch (const tiffany::Error& known) {
      return "Error " + std::to_string(static_cast<int>(known.code()));
    } catch (const std::exception& other) {
      return other.what();
    }
  }
  std::string text_of(const tiffany::Outcome<int>& outcome) const {
    if (outcome.ok()) return "ok " + std::to_string(outcome.value());
    return (outcome.cancelled() ? "cancelled " : "failed ") + text_of(outcome.error());
  }
  const Program& program() const { return program_; }
  const std::map<tiffany::TaskId, std::size_t>& labels() const { return labels_; }

 private:
  const Program& program_;
  std::map<tiffany::TaskId, std::size_t> labels_;

 public:
  Lines lines;
  bool teardown = false;  // only the destructor of the scheduler can end the tasks that are left
  Lines reported;         // the tasks whose failure nobody looked at
  std::vector<tiffany::Handle<int>> handles;
  std::vector<tiffany::Future<int>> futures;
  std::vector<std::optional<tiffany::Promise<int>>> promises;
  tiffany::Scheduler scheduler;
};

// Where a statement runs: in which task, and inside which scope block.
struct Place {
  std::size_t task = 0;
  tiffany::Scope* scope = nullptr;
};

// Shows when a block's frame unwinds, and so that destructors run innermost first.
class Leaving {
 public:
  Leaving(World& world, std::size_t task, int block) : world_(world), task_(task), block_(block) {}
  ~Leaving() { world_.note(task_, "leaves b" + std::to_string(block_)); }
  Leaving(const Leaving&) = delete;
  Leaving& operator=(const Leaving&) = delete;

 private:
  World& world_;
  std::size_t task_;
  int block_;
};

inline tiffany::Task<int> run_block(World& world, const Block& block, Place place);

inline tiffany::Task<int> run_task(World* world, const Block* block, Place place) {
  world->know(tiffany::this_task::id(), place.task);
  world->note(place.task, "starts");
  co_return co_await run_block(*world, *block, place);
}

// The handles and futures among the targets that are there at this moment.
class Present {
 public:
  Present(const World& world, const std::vector<Target>& targets) {
    for (const Target& target : targets) {
      if (target.promise) {
        if (world.futures[target.index]) futures.push_back(world.futures[target.index]);
      } else if (world.handles[target.index]) {
        handles.push_back(world.handles[target.index]);
      }
    }
  }
  bool mixed() const { return !handles.empty() && !futures.empty(); }
  bool none() const { return handles.empty() && futures.empty(); }

  std::vector<tiffany::Handle<int>> handles;
  std::vector<tiffany::Future<int>> futures;
};

inline std::string text_of(const std::vector<int>& values) {
  std::string out = "values";
  for (const int value : values) out += " " + std::to_string(value);
  return out;
}

inline std::string text_of_race(std::size_t index, int value, std::size_t rest) {
  return "index " + std::to_string(index) + " value " + std::to_string(value) + " rest " +
         std::to_string(rest);
}

inline std::string text_of(const tiffany::Timed<int>& timed) {
  return timed.timed_out() ? "timed out" : "value " + std::to_string(timed.value());
}

inline std::string text_of(const World& world, const std::vector<tiffany::Outcome<int>>& outcomes) {
  std::string out = "outcomes";
  for (const auto& outcome : outcomes) out += " " + world.text_of(outcome);
  return out;
}

// gather, all_settled and race over what exists already.
inline tiffany::Task<std::string> run_gather(Present targets) {
  if (targets.mixed()) {
    auto both = co_await tiffany::gather(targets.handles[0], targets.futures[0]);
    std::vector<int> values;
    values.push_back(both.get<0>());
    values.push_back(both.get<1>());
    co_return text_of(values);
  }
  if (!targets.futures.empty()) {
    const std::vector<int> values = co_await tiffany::gather(targets.futures);
    co_return text_of(values);
  }
  const std::vector<int> values = co_await tiffany::gather(targets.handles);
  co_return text_of(values);
}

inline tiffany::Task<std::string> run_all_settled(World& world, Present targets) {
  if (targets.mixed()) {
    auto both = co_await tiffany::all_settled(targets.handles[0], targets.futures[0]);
    std::vector<tiffany::Outcome<int>> outcomes;
    outcomes.push_back(std::get<0>(both));
    outcomes.push_back(std::get<1>(both));
    co_return text_of(world, outcomes);
  }
  if (!targets.futures.empty()) {
    const auto outcomes = co_await tiffany::all_settled(targets.futures);
    co_return text_of(world, outcomes);
  }
  const auto outcomes = co_await tiffany::all_settled(targets.handles);
  co_return text_of(world, outcomes);
}

inline tiffany::Task<std::string> run_race(Present targets) {
  if (targets.mixed()) {
    auto won = co_await tiffany::race(targets.handles[0], targets.futures[0]);
    co_return text_of_race(won.index, won.index == 0 ? won.get<0>() : won.get<1>(), 1);
  }
  if (!targets.futures.empty()) {
    const auto won = co_await tiffany::race(targets.futures);
    co_return text_of_race(won.index, won.value, won.rest.size());
  }
  const auto won = co_await tiffany::race(targets.handles);
  co_return text_of_race(won.index, won.value, won.rest.size());
}

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

// A wait for one target, in the form that the statement asks for.
template <class H>
tiffany::Task<std::string> run_wait(World& world, const Statement& s, H target) {
  if (s.op == Op::outcome) {
    const tiffany::Outcome<int> outcome = co_await target.outcome();
    co_return world.text_of(outcome);
  }
  if (s.op == Op::within_target) {
    const tiffany::Timed<int> timed = co_await tiffany::within(tiffany::Duration(s.delay), target);
    co_return text_of(timed);
  }
  int value = 0;
  if (s.op == Op::shield_target) {
    value = co_await tiffany::shield(target);
  } else if (s.op == Op::take) {
    value = co_await std::move(target);
  } else {
    value = co_await target;
  }
  co_return "value " + std::to_string(value);
}

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
  if (s.op == Op::scope) {
    const ScopeBody body(world, block, place);
    value = co_await tiffany::detail::scope_block<int>(
        s.flag ? tiffany::ScopePolicy::isolate : tiffany::ScopePolicy::fail_fast, body);
  } else if (s.op == Op::shield) {
    value = co_await tiffany::shield(run_block(world, block, place));
  } else {
    value = co_await run_block(world, block, place);
  }
  co_return "value " + std::to_string(value);
}

// The statements that are plain calls. Gives what the log says of them.
inline std::string run_plain(World& world, const Statement& s, Place place) {
  const std::string why = "s" + std::to_string(s.id);
  switch (s.op) {
    case Op::spawn: {
      const auto priority = static_cast<std::uint8_t>(s.number);
      const tiffany::Spawner spawner = s.flag ? world.scheduler.spawn.with_priority(priority)
                                              : tiffany::spawn.with_priority(priority);
      const Place inside{s.index, s.flag ? nullptr : place.scope};
      tiffany::Handle<int> handle = spawner(run_task, &world, &s.blocks[0], inside);
      world.know(handle.id(), s.index);
      // A handle that outlives the scheduler would report its task's failure to standard error.
      if (!world.teardown) world.handles[s.index] = std::move(handle);
      return "done";
    }
    case Op::cancel:
      if (!world.handles[s.index]) return "none";
      world.handles[s.index].cancel(why);
      return "done";
    case Op::cancel_self:
      tiffany::this_task::cancel(why);
      return "done";
    case Op::drop:
      world.handles[s.index] = tiffany::Handle<int>();
      return "done";
    case Op::make_promise:
      world.promises[s.index].emplace();
      world.futures[s.index] = world.promises[s.index]->future();
      return "done";
    case Op::complete:
      if (!world.promises[s.index]) return "none";
      world.promises[s.index]->complete(s.number);
      return "done";
    case Op::fail:
      if (!world.promises[s.index]) return "none";
      world.promises[s.index]->fail(std::runtime_error(error_name(s.number)));
      return "done";
    case Op::drop_promise:
      world.promises[s.index].reset();
      return "done";
    case Op::scope_timeout:
      if (place.scope == nullptr) return "none";
      place.scope->set_timeout(tiffany::Duration(s.delay));
      return "done";
    case Op::scope_cancel:
      if (place.scope == nullptr) return "none";
      place.scope->cancel(why);
      return "done";
    case Op::raise:
      throw std::runtime_error(error_name(s.number));
    default:
      return "not a statement";
  }
}

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
    case Op::within:
    case Op::shield:
    case Op::scope:
    case Op::call:
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
    }
  }
  return Ending::stuck;
}

// The state that every task with a handle has in the end.
inline Lines final_states(const World& world) {
  Lines lines;
  for (std::size_t i = 0; i < world.handles.size(); ++i) {
    const tiffany::Handle<int>& handle = world.handles[i];
    if (!handle) continue;
    std::string line = task_name(i) + " " + name_of(handle.state());
    if (handle.state() == tiffany::State::completed) {
      line += " " + std::to_string(handle.value(false));
    } else if (handle.done()) {
      line += " " + world.text_of(handle.waitable().error());
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace model

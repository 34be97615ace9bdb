// What a generated program does with plain calls, on the real library: spawning first of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "model/library_waits.hpp"
#include "model/library_world.hpp"

namespace model {

inline constexpr tiffany::ContextKey<int> kContext[kKeys] = {
    tiffany::ContextKey<int>("c0"), tiffany::ContextKey<int>("c1"), tiffany::ContextKey<int>("c2")};

inline tiffany::StateKey<int> state_key(std::size_t key) {
  static constexpr const char* kNames[kKeys] = {"k0", "k1", "k2"};
  return tiffany::StateKey<int>(kNames[key]);
}

inline tiffany::Task<int> run_block(World& world, const Block& block, Place place);

inline tiffany::Task<int> run_task(World* world, const Block* block, Place place) {
  world->know(tiffany::this_task::id(), place.task);
  world->note(place.task, "starts");
  co_return co_await run_block(*world, *block, place);
}

// With the value of a task or promise that it comes after.
inline tiffany::Task<int> run_task_with(int value, World* world, const Block* block, Place place) {
  world->know(tiffany::this_task::id(), place.task);
  world->note(place.task, "starts with " + std::to_string(value));
  co_return co_await run_block(*world, *block, place);
}

// ---- Spawning ----

inline tiffany::Spawner spawner_for(World& world, const Spawn& how, Place place) {
  const auto priority = static_cast<std::uint8_t>(how.priority);
  if (how.into == Into::root) return world.scheduler.spawn.with_priority(priority);
  if (how.into == Into::scope && place.scope != nullptr) {
    return place.scope->spawn.with_priority(priority);
  }
  return tiffany::spawn.with_priority(priority);
}

inline tiffany::IfFailed policy_for(IfFailed policy) {
  if (policy == IfFailed::run) return tiffany::IfFailed::run;
  return policy == IfFailed::fail ? tiffany::IfFailed::fail : tiffany::IfFailed::skip;
}

// With what is left of the targets, and the rest of what the statement says.
template <class After>
After after_all(After spawner, const World& world, const Statement& s, std::size_t first) {
  for (std::size_t i = first; i < s.targets.size(); ++i) {
    const Present one(world, {s.targets[i]});
    if (!one.futures.empty()) spawner = spawner.after(one.futures);
    if (!one.handles.empty()) {
      spawner = s.how.by_id ? spawner.after(one.handles[0].id()) : spawner.after(one.handles[0]);
    }
  }
  return spawner.if_failed(policy_for(s.how.if_failed))
      .cost(static_cast<std::uint32_t>(s.how.cost));
}

template <class Source>
tiffany::Handle<int> spawn_from(const Source& source, const tiffany::Spawner& spawner, World& world,
                                const Statement& s, Place inside) {
  return after_all(spawner.from(source), world, s, 1)(run_task_with, &world, &s.blocks[0], inside);
}

inline tiffany::Handle<int> spawn_as_said(World& world, const Statement& s, Place place) {
  const tiffany::Spawner spawner = spawner_for(world, s.how, place);
  const Place inside{s.index, s.how.into == Into::root ? nullptr : place.scope};
  if (s.op == Op::spawn_from) {
    const Present source(world, {s.targets[0]});
    if (source.none()) return {};
    if (s.targets[0].promise) return spawn_from(source.futures[0], spawner, world, s, inside);
    return spawn_from(source.handles[0], spawner, world, s, inside);
  }
  if (s.op == Op::spawn_after) {
    return after_all(spawner.after(), world, s, 0)(run_task, &world, &s.blocks[0], inside);
  }
  if (s.how.with_value) {
    return spawner.with(kContext[s.key], s.number)(run_task, &world, &s.blocks[0], inside);
  }
  return spawner(run_task, &world, &s.blocks[0], inside);
}

inline std::string run_spawn(World& world, const Statement& s, Place place) {
  tiffany::Handle<int> handle = spawn_as_said(world, s, place);
  if (!handle) return "none";
  world.know(handle.id(), s.index);
  // A handle that outlives the scheduler would report its task's failure to standard error.
  if (!world.teardown) world.handles[s.index] = std::move(handle);
  return "done";
}

// ---- Others ----

inline std::string text_of_value(const int* value) {
  return value != nullptr ? "value " + std::to_string(*value) : "nothing";
}

inline std::string run_on_scope(const Statement& s, tiffany::Scope* scope) {
  if (scope == nullptr) return "none";
  if (s.op == Op::scope_timeout) scope->set_timeout(tiffany::Duration(s.delay));
  if (s.op == Op::scope_limit) scope->limit_tasks(static_cast<std::size_t>(s.number));
  if (s.op == Op::scope_cancel) scope->cancel("s" + std::to_string(s.id));
  return "done";
}

inline std::string run_on_promise(World& world, const Statement& s) {
  std::optional<tiffany::Promise<int>>& promise = world.promises[s.index];
  if (s.op == Op::make_promise) {
    promise.emplace();
    world.futures[s.index] = promise->future();
    return "done";
  }
  if (s.op == Op::drop_promise) {
    promise.reset();
    return "done";
  }
  if (!promise) return "none";
  if (s.op == Op::complete) promise->complete(s.number);
  if (s.op == Op::fail) promise->fail(std::runtime_error(error_name(s.number)));
  return "done";
}

// The statements that are plain calls. Gives what the log says of them.
inline std::string run_plain(World& world, const Statement& s, Place place) {
  const std::string why = "s" + std::to_string(s.id);
  switch (s.op) {
    case Op::spawn:
    case Op::spawn_after:
    case Op::spawn_from:
      return run_spawn(world, s, place);
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
    case Op::complete:
    case Op::fail:
    case Op::drop_promise:
      return run_on_promise(world, s);
    case Op::scope_timeout:
    case Op::scope_cancel:
    case Op::scope_limit:
      return run_on_scope(s, place.scope);
    case Op::ask:
      return text_of_value(&ask(kContext[s.key]));
    case Op::lookup:
      return text_of_value(lookup(kContext[s.key]));
    case Op::put:
      put(state_key(s.key), s.number);
      return "done";
    case Op::get:
      return text_of_value(get(state_key(s.key)));
    case Op::tell:
      tiffany::tell(why);
      return "done";
    case Op::told:
      return text_of_log(tiffany::told());
    case Op::raise:
      throw std::runtime_error(error_name(s.number));
    default:
      return "not a statement";
  }
}

}  // namespace model

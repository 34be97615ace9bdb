// What a generated program does with channels, locks and signals, on the real library.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "model/library_world.hpp"

namespace model {

inline tiffany::Task<int> run_block(World& world, const Block& block, Place place);

// ---- Calls that may wait ----

template <Use kUse>
auto make_call(SyncWorld& sync, const SyncCall& call) {
  const std::size_t which = call.which;
  const auto number = static_cast<std::size_t>(call.number);
  if constexpr (kUse == Use::send) return sync.channels[which].sender.send(call.number);
  if constexpr (kUse == Use::recv) return sync.channels[which].receiver.recv();
  if constexpr (kUse == Use::recv_many) return sync.channels[which].receiver.recv_many(number);
  if constexpr (kUse == Use::lock) return sync.mutexes[which].lock();
  if constexpr (kUse == Use::read) return sync.shared_mutexes[which].lock_shared();
  if constexpr (kUse == Use::write) return sync.shared_mutexes[which].lock();
  if constexpr (kUse == Use::acquire) return sync.semaphores[which].acquire(number);
  if constexpr (kUse == Use::wait_event) return sync.events[which].wait();
  if constexpr (kUse == Use::wait_latch) return sync.latches[which].wait();
  if constexpr (kUse == Use::arrive) return sync.barriers[which].arrive();
}

// Calls run<use>(), where `use` is only known now.
template <class F>
tiffany::Task<std::string> with_use(Use use, const F& run) {
  switch (use) {
    case Use::send:
      return run.template operator()<Use::send>();
    case Use::recv:
      return run.template operator()<Use::recv>();
    case Use::recv_many:
      return run.template operator()<Use::recv_many>();
    case Use::lock:
      return run.template operator()<Use::lock>();
    case Use::read:
      return run.template operator()<Use::read>();
    case Use::write:
      return run.template operator()<Use::write>();
    case Use::acquire:
      return run.template operator()<Use::acquire>();
    case Use::wait_event:
      return run.template operator()<Use::wait_event>();
    case Use::wait_latch:
      return run.template operator()<Use::wait_latch>();
    default:
      return run.template operator()<Use::arrive>();
  }
}

// Keeps what a call gave, or says what it was.
template <class V>
std::string take_result(World& world, const SyncCall& call, V value) {
  if constexpr (std::is_same_v<V, tiffany::Unit>) {
    return "done";
  } else if constexpr (std::is_same_v<V, bool>) {
    return value ? "last" : "not last";
  } else if constexpr (std::is_same_v<V, std::optional<int>>) {
    return value ? "value " + std::to_string(*value) : "closed";
  } else if constexpr (std::is_same_v<V, std::vector<int>>) {
    std::string text = "values";
    for (const int one : value) text += " " + std::to_string(one);
    return text;
  } else {
    world.sync.keep(call.slot, std::move(value));
    return "done";
  }
}

template <Use kUse>
tiffany::Task<std::string> run_alone(World& world, const Statement& s) {
  const SyncCall& what = s.calls[0];
  auto call = make_call<kUse>(world.sync, what);
  using Value = typename decltype(call)::value_type;
  if (s.op == Op::sync_within) {
    tiffany::Timed<Value> timed =
        co_await tiffany::within(tiffany::Duration(s.delay), std::move(call));
    if (timed.timed_out()) co_return "timed out";
    co_return take_result(world, what, std::move(timed.value()));
  }
  if constexpr (std::is_void_v<Value>) {
    co_await std::move(call);
    co_return "done";
  } else {
    Value value = co_await std::move(call);
    co_return take_result(world, what, std::move(value));
  }
}

template <Use kUse>
tiffany::Task<std::string> run_hold(World& world, const Statement& s, Place place) {
  auto held = co_await make_call<kUse>(world.sync, s.calls[0]);
  if constexpr (kUse == Use::lock) {
    if (s.op == Op::hold_notified) co_await world.sync.conditions[s.index].wait(held);
  }
  const int value = co_await run_block(world, s.blocks[0], place);
  co_return "value " + std::to_string(value);
}

// ---- Races ----

inline std::string text_of_won(std::size_t index, const std::string& result) {
  return "index " + std::to_string(index) + " " + result;
}

template <Use kUse>
tiffany::Task<std::string> run_race_of_one_kind(World& world, const Statement& s) {
  std::vector<decltype(make_call<kUse>(world.sync, s.calls[0]))> calls;
  for (const SyncCall& call : s.calls) calls.push_back(make_call<kUse>(world.sync, call));
  auto race = tiffany::race(std::move(calls));
  auto won = co_await std::move(race);
  co_return text_of_won(won.index, take_result(world, s.calls[won.index], std::move(won.value)));
}

// A task besides: none or one.
template <std::size_t kMix, class... Handles>
tiffany::Task<std::string> run_race_of_mix(World& world, const Statement& s, Handles... tasks) {
  auto race = tiffany::race(make_call<kMixOfRace[kMix][0]>(world.sync, s.calls[0]),
                            make_call<kMixOfRace[kMix][1]>(world.sync, s.calls[1]),
                            make_call<kMixOfRace[kMix][2]>(world.sync, s.calls[2]), tasks...);
  auto won = co_await std::move(race);
  std::string result;
  if (won.index == 0) result = take_result(world, s.calls[0], std::move(std::get<0>(won.value)));
  if (won.index == 1) result = take_result(world, s.calls[1], std::move(std::get<1>(won.value)));
  if (won.index == 2) result = take_result(world, s.calls[2], std::move(std::get<2>(won.value)));
  if constexpr (sizeof...(tasks) > 0) {
    if (won.index == 3) result = "value " + std::to_string(std::get<3>(won.value));
  }
  co_return text_of_won(won.index, result);
}

inline tiffany::Task<std::string> run_race_of_calls(World& world, const Statement& s) {
  if (!s.flag) {
    return with_use(s.calls[0].use,
                    [&]<Use kUse>() { return run_race_of_one_kind<kUse>(world, s); });
  }
  if (has_task(s)) return run_race_of_mix<kMixWithTask>(world, s, world.handles[s.index]);
  return s.number == 0 ? run_race_of_mix<0>(world, s) : run_race_of_mix<1>(world, s);
}

inline tiffany::Task<std::string> run_held(World& world, const Statement& s, Place place) {
  const Use use = s.calls[0].use;
  if (use == Use::lock) return run_hold<Use::lock>(world, s, place);
  if (use == Use::read) return run_hold<Use::read>(world, s, place);
  if (use == Use::write) return run_hold<Use::write>(world, s, place);
  return run_hold<Use::acquire>(world, s, place);
}

// ---- At once ----

template <class H>
std::string keep_if_any(World& world, const SyncCall& call, std::optional<H> hold) {
  if (!hold) return "nothing";
  world.sync.keep(call.slot, std::move(*hold));
  return "done";
}

inline std::string run_at_once(World& world, const SyncCall& call) {
  SyncWorld& sync = world.sync;
  const std::size_t which = call.which;
  const auto number = static_cast<std::size_t>(call.number);
  switch (call.use) {
    case Use::try_send:
      return tiffany::name_of(sync.channels[which].sender.try_send(call.number));
    case Use::try_recv: {
      const std::optional<int> value = sync.channels[which].receiver.try_recv();
      return value ? "value " + std::to_string(*value) : "nothing";
    }
    case Use::close:
      sync.channels[which].sender.close();
      break;
    case Use::try_lock:
      return keep_if_any(world, call, sync.mutexes[which].try_lock());
    case Use::try_read:
      return keep_if_any(world, call, sync.shared_mutexes[which].try_lock_shared());
    case Use::try_write:
      return keep_if_any(world, call, sync.shared_mutexes[which].try_lock());
    case Use::try_acquire:
      return keep_if_any(world, call, sync.semaphores[which].try_acquire(number));
    case Use::let_go:
      sync.let_go(call.slot);
      break;
    case Use::set:
      sync.events[which].set();
      break;
    case Use::reset:
      sync.events[which].reset();
      break;
    case Use::count_down:
      sync.latches[which].count_down(number);
      break;
    case Use::drop_party:
      sync.barriers[which].drop();
      break;
    case Use::notify_one:
      sync.conditions[which].notify_one();
      break;
    case Use::notify_all:
      sync.conditions[which].notify_all();
      break;
    default:
      return world.text_of_primitives();
  }
  return "done";
}

inline tiffany::Task<std::string> run_sync(World& world, const Statement& s, Place place) {
  if (s.op == Op::hold || s.op == Op::hold_notified) co_return co_await run_held(world, s, place);
  if (s.op == Op::sync_race) {
    if (has_task(s) && !world.handles[s.index]) co_return "none";
    co_return co_await run_race_of_calls(world, s);
  }
  const Use use = s.calls[0].use;
  if (use > kLastThatMayWait) co_return run_at_once(world, s.calls[0]);
  co_return co_await with_use(use, [&]<Use kUse>() { return run_alone<kUse>(world, s); });
}

}  // namespace model

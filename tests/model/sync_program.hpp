// What generated programs do with channels, locks and signals.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace model {

enum class Use : std::uint8_t {
  // May wait, alone or in a race.
  send,       // `number` into channel `which`
  recv,       // from channel `which`
  recv_many,  // the same, `number` at the most
  lock,       // mutex `which`; this and the next three are kept in `slot`
  read,       // shared mutex `which`
  write,      // the same, alone
  acquire,    // `number` permits of semaphore `which`
  wait_event,
  wait_latch,
  arrive,  // at barrier `which`
  // Never wait.
  try_send,
  try_recv,
  close,  // channel `which`
  try_lock,
  try_read,
  try_write,
  try_acquire,
  let_go,  // of what is kept in `slot`
  set,     // event `which`
  reset,
  count_down,  // latch `which` by `number`
  drop_party,  // of barrier `which`
  notify_one,  // condition `which`
  notify_all,
  look,  // at everything
};

inline constexpr Use kLastThatMayWait = Use::arrive;

struct SyncCall {
  Use use = Use::look;
  std::size_t which = 0;
  int number = 0;
  std::size_t slot = 0;
};

// Of each kind of primitive a program has so many.
inline constexpr std::size_t kOfEach = 2;
// Where locks and permits are kept that no block has; all tasks share them.
inline constexpr std::size_t kSlots = 3;

struct Primitives {
  std::array<std::size_t, kOfEach> capacities = {};  // of the channels
  std::array<std::size_t, kOfEach> permits = {1, 1};
  std::array<std::size_t, kOfEach> counts = {};  // of the latches
  std::array<std::size_t, kOfEach> parties = {1, 1};
};

// What a race over different calls is over; the last one is with a task besides.
inline constexpr std::size_t kMixes = 3;
inline constexpr Use kMixOfRace[kMixes][3] = {{Use::recv, Use::lock, Use::arrive},
                                              {Use::acquire, Use::wait_event, Use::send},
                                              {Use::write, Use::recv, Use::wait_latch}};
inline constexpr std::size_t kMixWithTask = 2;

}  // namespace model

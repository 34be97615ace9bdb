// What a parked task waits for, in six words: for counters, metrics and events.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace tiffany {

enum class WaitKind : std::uint8_t {
  join,      // a task, a scope, or several of them
  sleep,     // a point in time
  io,        // the operating system, or a thread that works for the task
  event,     // a promise, or a primitive of module sync
  external,  // what other threads and processes send
  other,     // calls that do not say
};
inline constexpr std::size_t kWaitKinds = 6;

// join, sleep, io, event, external, other.
const char* name_of(WaitKind kind) noexcept;

// A call says what it waits for with `WaitKind wait_kind() const noexcept`, asked when a task parks
// on it. A call without that counts as `other`.
template <class C>
constexpr WaitKind wait_kind_of(const C& call) noexcept {
  if constexpr (requires {
                  { call.wait_kind() } -> std::same_as<WaitKind>;
                }) {
    return call.wait_kind();
  } else {
    return WaitKind::other;
  }
}

}  // namespace tiffany

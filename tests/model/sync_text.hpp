// What is done with channels, locks and signals, as text for a reader.
#pragma once

#include <cstddef>
#include <string>

#include "model/sync_program.hpp"

namespace model {

// What it is done to.
inline std::string name_of(const SyncCall& call) {
  const std::string which = std::to_string(call.which);
  switch (call.use) {
    case Use::send:
    case Use::recv:
    case Use::recv_many:
    case Use::try_send:
    case Use::try_recv:
    case Use::close:
      return "channel " + which;
    case Use::lock:
    case Use::try_lock:
      return "mutex " + which;
    case Use::read:
    case Use::write:
    case Use::try_read:
    case Use::try_write:
      return "shared mutex " + which;
    case Use::acquire:
    case Use::try_acquire:
      return "semaphore " + which;
    case Use::wait_event:
    case Use::set:
    case Use::reset:
      return "event " + which;
    case Use::wait_latch:
    case Use::count_down:
      return "latch " + which;
    case Use::arrive:
    case Use::drop_party:
      return "barrier " + which;
    case Use::notify_one:
    case Use::notify_all:
      return "condition " + which;
    case Use::let_go:
    case Use::look:
      break;
  }
  return "everything";
}

inline std::string text_of(const SyncCall& call) {
  const std::string name = name_of(call);
  const std::string number = std::to_string(call.number);
  const std::string slot = "slot " + std::to_string(call.slot);
  switch (call.use) {
    case Use::send:
      return "send " + number + " into " + name;
    case Use::recv:
      return "receive from " + name;
    case Use::recv_many:
      return "receive up to " + number + " from " + name;
    case Use::lock:
      return "lock " + name + ", " + slot;
    case Use::read:
      return "lock " + name + " to read, " + slot;
    case Use::write:
      return "lock " + name + " to write, " + slot;
    case Use::acquire:
      return "acquire " + number + " of " + name + ", " + slot;
    case Use::wait_event:
    case Use::wait_latch:
      return "wait for " + name;
    case Use::arrive:
      return "arrive at " + name;
    case Use::try_send:
      return "try to send " + number + " into " + name;
    case Use::try_recv:
      return "try to receive from " + name;
    case Use::close:
      return "close " + name;
    case Use::try_lock:
      return "try to lock " + name + ", " + slot;
    case Use::try_read:
      return "try to lock " + name + " to read, " + slot;
    case Use::try_write:
      return "try to lock " + name + " to write, " + slot;
    case Use::try_acquire:
      return "try to acquire " + number + " of " + name + ", " + slot;
    case Use::let_go:
      return "let go of " + slot;
    case Use::set:
      return "set " + name;
    case Use::reset:
      return "reset " + name;
    case Use::count_down:
      return "count " + name + " down by " + number;
    case Use::drop_party:
      return "drop one of " + name;
    case Use::notify_one:
      return "notify one at " + name;
    case Use::notify_all:
      return "notify all at " + name;
    case Use::look:
      return "look at " + name;
  }
  return "?";
}

inline std::string text_of(const Primitives& made) {
  std::string out;
  for (std::size_t i = 0; i < kOfEach; ++i) {
    out += "number " + std::to_string(i) + ": channel of " + std::to_string(made.capacities[i]) +
           ", semaphore of " + std::to_string(made.permits[i]) + ", latch of " +
           std::to_string(made.counts[i]) + ", barrier of " + std::to_string(made.parties[i]) +
           "\n";
  }
  return out;
}

// What a program sees of the primitives with one number. `owner`: of the mutex, by name.
struct Sight {
  std::size_t values = 0;
  bool closed = false;
  std::string owner;
  std::size_t readers = 0;
  bool written = false;
  std::size_t permits = 0;
  bool set = false;
  std::size_t left = 0;
  std::size_t waiting = 0;
  std::uint64_t rounds = 0;
};

inline std::string text_of(const Sight& sight) {
  return " | values " + std::to_string(sight.values) + (sight.closed ? " closed" : "") +
         ", owner " + sight.owner + ", readers " + std::to_string(sight.readers) +
         (sight.written ? " written" : "") + ", permits " + std::to_string(sight.permits) +
         (sight.set ? ", set" : ", not set") + ", left " + std::to_string(sight.left) +
         ", waiting " + std::to_string(sight.waiting) + ", rounds " + std::to_string(sight.rounds);
}

}  // namespace model

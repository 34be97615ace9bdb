// The reference model: the primitives of one run, and what is kept of them.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "model/sync_parts.hpp"

namespace model::reference {

class Sync {
 public:
  Sync(const Primitives& made, const Primitive::Tell& tell) {
    for (std::size_t i = 0; i < kOfEach; ++i) {
      channels.emplace_back(tell, made.capacities[i]);
      mutexes.emplace_back(tell, 1, true);
      shared_mutexes.emplace_back(tell, Pool::kManyReaders, true);
      semaphores.emplace_back(tell, made.permits[i], false);
      events.emplace_back(tell);
      latches.emplace_back(tell, made.counts[i]);
      barriers.emplace_back(tell, made.parties[i]);
      conditions.emplace_back(tell);
    }
  }

  // What a call asks, and of whom.
  Ask ask(const SyncCall& call) {
    Ask ask;
    ask.what = call;
    switch (call.use) {
      case Use::lock:
      case Use::try_lock:
        ask.at = &mutexes[call.which];
        break;
      case Use::read:
      case Use::try_read:
        ask.at = &shared_mutexes[call.which];
        break;
      case Use::write:
      case Use::try_write:
        ask.at = &shared_mutexes[call.which];
        ask.count = Pool::kManyReaders;
        break;
      case Use::acquire:
      case Use::try_acquire:
        ask.at = &semaphores[call.which];
        ask.count = static_cast<std::size_t>(call.number);
        break;
      case Use::wait_event:
        ask.at = &events[call.which];
        break;
      case Use::wait_latch:
        ask.at = &latches[call.which];
        break;
      case Use::arrive:
        ask.at = &barriers[call.which];
        break;
      default:
        ask.at = &channels[call.which];
        break;
    }
    return ask;
  }

  // What was in the slot is given back.
  void keep(std::size_t slot, const std::optional<Held>& held) {
    const std::optional<Held> before = std::exchange(kept_[slot], held);
    if (before) before->pool->give_back(*before);
  }

  std::string text() const {
    std::string out;
    for (std::size_t i = 0; i < kOfEach; ++i) {
      Sight sight;
      sight.values = channels[i].size();
      sight.closed = channels[i].closed();
      const auto& owner = mutexes[i].holders();
      sight.owner = owner.empty() ? "nobody" : task_name(owner[0]->index);
      sight.written = shared_mutexes[i].free() == 0;
      sight.readers = sight.written ? 0 : Pool::kManyReaders - shared_mutexes[i].free();
      sight.permits = semaphores[i].free();
      sight.set = events[i].is_set;
      sight.left = latches[i].left;
      sight.waiting = barriers[i].waiting();
      sight.rounds = barriers[i].rounds;
      out += text_of(sight);
    }
    return out;
  }

  std::deque<Channel> channels;
  std::deque<Pool> mutexes;
  std::deque<Pool> shared_mutexes;
  std::deque<Pool> semaphores;
  std::deque<Event> events;
  std::deque<Latch> latches;
  std::deque<Barrier> barriers;
  std::deque<Condition> conditions;

 private:
  std::array<std::optional<Held>, kSlots> kept_;
};

}  // namespace model::reference

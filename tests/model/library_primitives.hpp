// The primitives of module sync that the tasks of a generated program share, and what is kept of
// them.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <memory>
#include <utility>

#include "model/sync_program.hpp"
#include "model/sync_text.hpp"
#include "tiffany/tiffany.hpp"

namespace model {

class SyncWorld {
 public:
  explicit SyncWorld(const Primitives& made) {
    for (std::size_t i = 0; i < kOfEach; ++i) {
      channels.push_back(tiffany::channel<int>(made.capacities[i]));
      mutexes.emplace_back();
      shared_mutexes.emplace_back();
      semaphores.emplace_back(made.permits[i]);
      events.emplace_back();
      latches.emplace_back(made.counts[i]);
      barriers.emplace_back(made.parties[i]);
      conditions.emplace_back();
    }
  }

  // What was in the slot is given back.
  template <class H>
  void keep(std::size_t slot, H hold) {
    kept_[slot] = std::make_shared<H>(std::move(hold));
  }
  void let_go(std::size_t slot) { kept_[slot] = nullptr; }
  void let_go_of_all() {
    for (std::size_t slot = 0; slot < kSlots; ++slot) let_go(slot);
  }
  // Nobody has anything, and nobody waits.
  bool unused() const {
    for (std::size_t i = 0; i < kOfEach; ++i) {
      const tiffany::Semaphore& semaphore = semaphores[i];
      if (mutexes[i].locked() || shared_mutexes[i].locked() || shared_mutexes[i].readers() > 0)
        return false;
      if (semaphore.available() != semaphore.permits() || barriers[i].waiting() > 0) return false;
    }
    return true;
  }

  // `name_of(id)` gives the name of a task.
  template <class F>
  std::string text(F name_of) const {
    std::string out;
    for (std::size_t i = 0; i < kOfEach; ++i) {
      Sight sight;
      sight.values = channels[i].sender.size();
      sight.closed = channels[i].receiver.closed();
      sight.owner = name_of(mutexes[i].owner());
      sight.readers = shared_mutexes[i].readers();
      sight.written = shared_mutexes[i].locked();
      sight.permits = semaphores[i].available();
      sight.set = events[i].is_set();
      sight.left = latches[i].left();
      sight.waiting = barriers[i].waiting();
      sight.rounds = barriers[i].rounds();
      out += text_of(sight);
    }
    return out;
  }

  std::deque<tiffany::Channel<int>> channels;
  std::deque<tiffany::Mutex> mutexes;
  std::deque<tiffany::SharedMutex> shared_mutexes;
  std::deque<tiffany::Semaphore> semaphores;
  std::deque<tiffany::ManualResetEvent> events;
  std::deque<tiffany::Latch> latches;
  std::deque<tiffany::Barrier> barriers;
  std::deque<tiffany::Condition> conditions;

 private:
  std::array<std::shared_ptr<void>, kSlots> kept_;
};

}  // namespace model

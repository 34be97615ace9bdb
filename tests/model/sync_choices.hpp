// What the generator of programs draws for channels, locks and signals.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "model/choices.hpp"
#include "model/program.hpp"

namespace model {

// What is done with the primitives of one kind.
struct Family {
  std::span<const Use> waiting;
  std::span<const Use> at_once;
};

namespace families {
inline constexpr Use kChannel[] = {Use::send, Use::send, Use::recv, Use::recv, Use::recv_many};
inline constexpr Use kChannelAtOnce[] = {Use::try_send, Use::try_recv};
inline constexpr Use kMutex[] = {Use::lock};
inline constexpr Use kMutexAtOnce[] = {Use::try_lock,   Use::let_go,     Use::let_go,
                                       Use::notify_one, Use::notify_one, Use::notify_one,
                                       Use::notify_all};
inline constexpr Use kShared[] = {Use::read, Use::read, Use::write};
inline constexpr Use kSharedAtOnce[] = {Use::try_read, Use::try_write, Use::let_go, Use::let_go};
inline constexpr Use kSemaphore[] = {Use::acquire};
inline constexpr Use kSemaphoreAtOnce[] = {Use::try_acquire, Use::let_go, Use::let_go};
inline constexpr Use kEvent[] = {Use::wait_event};
inline constexpr Use kEventAtOnce[] = {Use::set, Use::set, Use::reset};
inline constexpr Use kLatch[] = {Use::wait_latch};
inline constexpr Use kLatchAtOnce[] = {Use::count_down};
inline constexpr Use kBarrier[] = {Use::arrive};
inline constexpr Use kBarrierAtOnce[] = {Use::look};
}  // namespace families

inline constexpr Family kFamilies[] = {
    {families::kMutex, families::kMutexAtOnce},
    {families::kShared, families::kSharedAtOnce},
    {families::kSemaphore, families::kSemaphoreAtOnce},
    {families::kChannel, families::kChannelAtOnce},
    {families::kEvent, families::kEventAtOnce},
    {families::kLatch, families::kLatchAtOnce},
    {families::kBarrier, families::kBarrierAtOnce},
};
inline constexpr std::size_t kMutexFamily = 0;
// The first ones give something that is held.
inline constexpr std::size_t kHoldingFamilies = 3;

class SyncChoices : protected Choices {
 protected:
  using Choices::Choices;
  ~SyncChoices() = default;

  Primitives primitives() {
    Primitives made;
    for (std::size_t i = 0; i < kOfEach; ++i) {
      made.capacities[i] = below(4);
      made.permits[i] = chance(20) ? 1 : 2 + below(3);
      made.counts[i] = 1 + below(5);
      made.parties[i] = 1 + below(4);
    }
    for (std::size_t count = 1 + below(3); count > 0; --count) {
      favourites_.push_back(below(std::size(kFamilies)));
    }
    return made;
  }

  SyncCall call(Use use) { return call(use, chance(80) ? 0 : below(kOfEach)); }  // tasks must meet
  SyncCall call(Use use, std::size_t which) {
    SyncCall call;
    call.use = use;
    call.which = which;
    call.slot = below(kSlots);
    call.number = number();
    if (use == Use::recv_many) call.number = 1 + static_cast<int>(below(3));
    if (use == Use::count_down) call.number = 1 + static_cast<int>(below(2));
    if (use == Use::acquire || use == Use::try_acquire) {
      call.number = 1 + static_cast<int>(below(program_.primitives.permits[call.which]));
    }
    return call;
  }
  SyncCall waiting_call() { return mostly_right(call(one(kFamilies[family()].waiting))); }
  SyncCall any_call() {
    if (chance(45)) return waiting_call();
    if (chance(3)) return call(Use::close);
    if (chance(3)) return call(Use::drop_party);
    if (chance(5)) return call(Use::look);
    return mostly_right(call(one(kFamilies[family()].at_once)));
  }
  SyncCall holding_call() {
    std::size_t drawn = family();
    if (drawn >= kHoldingFamilies) drawn = below(kHoldingFamilies);
    return mostly_right(call(one(kFamilies[drawn].waiting)));
  }
  std::vector<SyncCall> calls_of_one_kind() {
    const Use use = one(kFamilies[family()].waiting);
    std::vector<SyncCall> calls;
    for (std::size_t count = 1 + below(3); count > 0; --count) {
      calls.push_back(call(use, below(kOfEach)));
    }
    return calls;
  }
  // One with something that this program uses most.
  std::size_t mix() {
    const Use wanted = one(kFamilies[family()].waiting);
    for (;;) {
      const std::size_t drawn = below(kMixes);
      const auto& uses = kMixOfRace[drawn];
      if (std::find(std::begin(uses), std::end(uses), wanted) != std::end(uses) || chance(20)) {
        return drawn;
      }
    }
  }
  std::vector<SyncCall> mix_of_calls(const Use (&uses)[3]) {
    std::vector<SyncCall> calls;
    for (const Use use : uses) calls.push_back(call(use));
    return calls;
  }
  bool favours(std::size_t family) const {
    return std::find(favourites_.begin(), favourites_.end(), family) != favourites_.end();
  }

 private:
  Use one(std::span<const Use> uses) { return uses[below(uses.size())]; }
  std::size_t family() {
    return chance(85) ? favourites_[below(favourites_.size())] : below(std::size(kFamilies));
  }
  // Rarely a number that is an error.
  SyncCall mostly_right(SyncCall call) {
    const bool counts = call.use == Use::acquire || call.use == Use::try_acquire;
    if (counts && chance(2)) call.number = chance(50) ? 0 : 5;
    if (call.use == Use::recv_many && chance(2)) call.number = 0;
    return call;
  }

  std::vector<std::size_t> favourites_;  // what this program uses most; tasks must meet
};

}  // namespace model

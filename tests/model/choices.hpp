// What the generator of programs draws: numbers, delays, targets, ways to spawn and to supervise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "model/program.hpp"
#include "tiffany/base/random.hpp"

namespace model {

class Choices {
 protected:
  explicit Choices(std::uint64_t seed) : random_(seed, "model program") {}
  ~Choices() = default;

  std::size_t below(std::size_t limit) { return random_.below(limit); }
  bool chance(unsigned percent) { return random_.below(100) < percent; }
  template <class T, std::size_t kCount>
  T one_of(const T (&choices)[kCount]) {
    return choices[random_.below(kCount)];
  }

  int number() { return static_cast<int>(random_.below(100)); }
  std::size_t key() { return random_.below(kKeys); }
  int priority() {
    static constexpr int kChoices[] = {10, 10, 10, 10, 10, 10, 0, 5, 20, 255};
    return one_of(kChoices);
  }
  // Few different ones, so that deadlines meet; some across the digits of the timer wheel; rarely
  // one that is an error.
  long delay() {
    static constexpr long kDelays[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 10, 20, 250, 256, 70000};
    if (chance(1)) return -1;
    return one_of(kDelays);
  }

  Setup setup() {
    static constexpr Order kOrders[] = {Order::fifo, Order::depth_first, Order::longest_path,
                                        Order::longest_path};
    const auto few = [this] { return 1 + static_cast<std::uint32_t>(below(4)); };
    Setup setup;
    if (chance(25)) setup.order = one_of(kOrders);
    if (chance(35)) setup.quantum = few();
    for (std::size_t more = chance(25) ? 1 + below(2) : 0; more > 0; --more) {
      setup.quantum_of.emplace_back(priority(), few());
    }
    if (chance(35)) setup.turn = few();
    if (chance(25)) setup.ageing = 1 + static_cast<std::uint32_t>(below(6));
    if (chance(20)) setup.limit = 2 + below(8);
    setup.system_failure_ends_run = chance(20);
    return setup;
  }

  // ---- Targets ----

  // Mostly a task that this one has spawned: waiting for oneself is an error and for an ancestor a
  // deadlock, which are worth having, but not in every program.
  std::size_t task() {
    if (!own_.empty() && chance(75)) return own_[below(own_.size())];
    for (;;) {
      const std::size_t any = below(program_.tasks);
      const bool around = std::find(around_.begin(), around_.end(), any) != around_.end();
      if (!around || chance(8)) return any;
    }
  }
  Target target() {
    const bool promise = program_.promises > 0 && (own_.empty() ? chance(70) : chance(25));
    return Target{promise, promise ? below(program_.promises) : task()};
  }
  // All tasks, all promises, or a task and a promise: what the library has overloads for.
  std::vector<Target> targets() {
    std::vector<Target> out;
    if (program_.promises > 0 && chance(15)) {
      out.push_back(Target{false, task()});
      out.push_back(Target{true, below(program_.promises)});
      return out;
    }
    const bool promises = program_.promises > 0 && chance(20);
    const std::size_t count = chance(2) ? 0 : 1 + below(4);
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(Target{promises, promises ? below(program_.promises) : task()});
    }
    return out;
  }
  // What a task comes after: any mixture.
  std::vector<Target> dependencies(std::size_t least) {
    std::vector<Target> out;
    for (std::size_t count = std::max(least, chance(3) ? 0 : 1 + below(3)); count > 0; --count) {
      out.push_back(target());
    }
    return out;
  }

  // ---- Ways ----

  Spawn way_to_spawn(Op op) {
    static constexpr IfFailed kPolicies[] = {IfFailed::skip, IfFailed::skip, IfFailed::run,
                                             IfFailed::fail};
    Spawn how;
    if (chance(8)) how.into = Into::root;
    if (in_scope_ && chance(15)) how.into = Into::scope;
    how.priority = priority();
    if (op == Op::spawn) {
      how.with_value = chance(8);
      return how;
    }
    how.by_id = op == Op::spawn_after && chance(20);
    how.if_failed = one_of(kPolicies);
    if (chance(30)) how.cost = static_cast<int>(below(5));
    return how;
  }

  Supervision way_to_supervise() {
    static constexpr Strategy kStrategies[] = {Strategy::one_for_one, Strategy::one_for_all,
                                               Strategy::rest_for_one};
    static constexpr Restart kRestarts[] = {Restart::transient, Restart::transient,
                                            Restart::temporary, Restart::permanent};
    static constexpr int kFailures[] = {0, 1, 1, 2, 4};
    static constexpr long kPeriods[] = {0, 1, 3, 10, 20, kLongPeriod, kLongPeriod};
    Supervision how;
    how.strategy = one_of(kStrategies);
    how.restarts = below(5);
    how.period = one_of(kPeriods);
    if (chance(50)) {
      how.first_wait = static_cast<long>(below(4));
      how.longest_wait = how.first_wait + static_cast<long>(below(8));
    }
    how.priority = priority();
    for (std::size_t count = 1 + below(3); count > 0; --count) {
      how.children.emplace_back();
      how.children.back().restart = one_of(kRestarts);
      how.children.back().failures = one_of(kFailures);
      // One that is started again for ever, because it always comes back or finds no room, would
      // never come to the end of a short period.
      const bool for_ever = how.children.back().restart == Restart::permanent;
      if (for_ever || setup_.limit != Setup().limit) how.period = kLongPeriod;
    }
    return how;
  }

  static constexpr long kLongPeriod = 1'000'000'000;

  Program program_;
  Setup setup_;
  std::vector<std::size_t> around_ = {0};  // the task that is being written, and those around it
  std::vector<std::size_t> own_;           // the tasks that it has spawned so far
  bool in_scope_ = false;

 private:
  tiffany::Random random_;
};

}  // namespace model

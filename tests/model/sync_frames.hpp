// The reference model: what programs do with the primitives of module sync.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "model/frames.hpp"
#include "model/sync_run.hpp"

namespace model::reference {

inline bool may_wait(const SyncCall& call) { return call.use <= kLastThatMayWait; }

// Asks that are an error whatever the primitive looks like.
inline bool bad_argument(Run& run, const SyncCall& call) {
  if (call.use == Use::recv_many) return call.number == 0;
  if (call.use != Use::acquire && call.use != Use::try_acquire) return false;
  const auto count = static_cast<std::size_t>(call.number);
  return count == 0 || count > run.sync.semaphores[call.which].all();
}

// What an ask gave that was answered, or for which something has come.
inline Signal result_of(Run& run, const Ask& ask) {
  if (!ask.error.empty()) return thrown_signal(false, ask.error);
  switch (ask.what.use) {
    case Use::recv:
      return ask.value ? value_signal(*ask.value) : value_signal(0, "closed");
    case Use::recv_many: {
      if (!ask.value) return value_signal(0, "values");
      Channel& channel = run.sync.channels[ask.what.which];
      const auto most = static_cast<std::size_t>(ask.what.number) - 1;
      std::string text = "values " + std::to_string(*ask.value);
      for (std::size_t more = std::min(most, channel.size()); more > 0; --more) {
        text += " " + std::to_string(*channel.take());
      }
      return value_signal(0, text);
    }
    case Use::lock:
    case Use::read:
    case Use::write:
    case Use::acquire:
      run.sync.keep(ask.what.slot, ask.held);
      return value_signal(0, "done");
    case Use::arrive:
      return value_signal(0, ask.last ? "last" : "not last");
    default:
      return value_signal(0, "done");
  }
}

inline std::unique_ptr<Frame> ask_alone(Run& run, Ask ask, CallFrame::Finish finish) {
  Wait wait;
  wait.kind = WaitKind::sync;
  wait.asks.push_back(std::move(ask));
  return std::make_unique<CallFrame>(run, std::move(wait), std::move(finish));
}

inline std::unique_ptr<Frame> race_of_asks(Run& run, const Statement& s) {
  Wait wait;
  wait.kind = WaitKind::sync;
  wait.in_race = true;
  wait.decide = Decide::first_settled;
  for (const SyncCall& call : s.calls) wait.asks.push_back(run.sync.ask(call));
  if (has_task(s)) wait.targets.push_back(run.handles[s.index]);
  return std::make_unique<CallFrame>(run, std::move(wait), [&run](const Wait& w) {
    const std::size_t index = *w.decided;
    const bool of_task = index == w.asks.size();
    Signal result = of_task ? result_of(*w.targets[0]) : result_of(run, w.asks[index]);
    if (!result.thrown) result.text = "index " + std::to_string(index) + " " + result.text;
    return result;
  });
}

// Lets go of a lock, waits to be notified, and takes the lock again whatever happens.
class ConditionFrame final : public RunFrame {
 public:
  ConditionFrame(Run& run, std::size_t which, Held& held)
      : RunFrame(run), which_(which), held_(held) {}

  Next resume(Signal& signal) override {
    switch (phase_++) {
      case 0: {
        Wait wait;
        wait.kind = WaitKind::sync;
        wait.asks.emplace_back();
        wait.asks[0].at = &run_.sync.conditions[which_];
        if (const auto cancelled = machine().enter(task(), std::move(wait))) {
          signal = *cancelled;  // and it has the lock
          return Next::pop;
        }
        held_.pool->give_back(held_);
        return Next::park;
      }
      case 1: {
        thrown_ = signal.thrown;
        machine().open_region(task(), true);
        Ask again;
        again.what.use = Use::lock;
        again.at = held_.pool;
        return push(ask_alone(run_, again, [this](const Wait& wait) {
          held_ = wait.asks[0].held;
          return Signal();
        }));
      }
      default:
        machine().close_region(task());
        signal.thrown = thrown_;
        return Next::pop;
    }
  }

 private:
  std::size_t which_;
  Held& held_;
  std::optional<Thrown> thrown_;
  int phase_ = 0;
};

// Has a lock or permits for as long as a block runs.
class HoldFrame final : public RunFrame {
 public:
  HoldFrame(Run& run, const Statement& statement, Scope* lexical)
      : RunFrame(run), statement_(statement), lexical_(lexical) {}

  Next resume(Signal& signal) override {
    switch (phase_++) {
      case 0:
        return push(ask_alone(run_, run_.sync.ask(statement_.calls[0]), [this](const Wait& wait) {
          held_ = wait.asks[0].held;
          return Signal();
        }));
      case 1:
        if (signal.thrown) return Next::pop;
        if (statement_.op == Op::hold) return resume(signal);
        return push(std::make_unique<ConditionFrame>(run_, statement_.index, held_));
      case 2:
        if (signal.thrown) return resume(signal);
        return push(run_block(run_, statement_.blocks[0], lexical_));
      default:
        held_.pool->give_back(held_);
        return Next::pop;
    }
  }

 private:
  const Statement& statement_;
  Scope* lexical_;
  Held held_;
  int phase_ = 0;
};

// The frame of a statement that may wait. Null: it is done at once.
inline std::unique_ptr<Frame> sync_frame(Run& run, const Statement& s, Scope* lexical) {
  const SyncCall& call = s.calls[0];
  if (!may_wait(call) || bad_argument(run, call)) return nullptr;
  if (s.op == Op::hold || s.op == Op::hold_notified) {
    return std::make_unique<HoldFrame>(run, s, lexical);
  }
  if (s.op == Op::sync_race) {
    const bool none = has_task(s) && run.handles[s.index] == nullptr;
    return none ? nullptr : race_of_asks(run, s);
  }
  std::unique_ptr<Frame> alone = ask_alone(
      run, run.sync.ask(call), [&run](const Wait& w) { return result_of(run, w.asks[0]); });
  if (s.op == Op::sync) return alone;
  return std::make_unique<TimedFrame>(run, s.delay, std::move(alone));
}

// ---- At once ----

// As the call that waits, but nobody stands in a line.
inline Signal try_to_take(Run& run, const SyncCall& call) {
  Ask ask = run.sync.ask(call);
  ask.task = run.machine.running;
  if (!ask.at->answer(ask)) return value_signal(0, "nothing");
  if (!ask.error.empty()) return thrown_signal(false, ask.error);
  run.sync.keep(call.slot, ask.held);
  return value_signal(0, "done");
}

inline Signal try_to_send(Channel& channel, int value) {
  if (channel.closed()) return value_signal(0, "closed");
  return value_signal(0, channel.put(value) ? "accepted" : "full");
}

inline Signal sync_at_once(Run& run, const Statement& s) {
  Sync& sync = run.sync;
  const SyncCall& call = s.calls[0];
  const std::size_t which = call.which;
  const auto number = static_cast<std::size_t>(call.number);
  const Signal bad = thrown_signal(false, "Error 109");
  if (bad_argument(run, call)) return bad;
  switch (call.use) {
    case Use::try_send:
      return try_to_send(sync.channels[which], call.number);
    case Use::try_recv: {
      const std::optional<int> value = sync.channels[which].take();
      return value ? value_signal(*value) : value_signal(0, "nothing");
    }
    case Use::close:
      sync.channels[which].close();
      break;
    case Use::try_lock:
    case Use::try_read:
    case Use::try_write:
    case Use::try_acquire:
      return try_to_take(run, call);
    case Use::let_go:
      sync.keep(call.slot, std::nullopt);
      break;
    case Use::set:
      sync.events[which].set();
      break;
    case Use::reset:
      sync.events[which].is_set = false;
      break;
    case Use::count_down:
      if (number > sync.latches[which].left) return bad;
      sync.latches[which].count_down(number);
      break;
    case Use::drop_party:
      if (sync.barriers[which].parties == 0) return bad;
      sync.barriers[which].drop();
      break;
    case Use::notify_one:
      sync.conditions[which].notify_one();
      break;
    case Use::notify_all:
      sync.conditions[which].notify_all();
      break;
    case Use::look:
      return value_signal(0, sync.text());
    default:
      return value_signal(0, "none");
  }
  return value_signal(0, "done");
}

}  // namespace model::reference

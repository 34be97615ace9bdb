// What is behind a Flow: one durable task whose code is here. Each idea has a part of its own.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "durable/arrivals.hpp"
#include "durable/code_state.hpp"
#include "durable/comparison.hpp"
#include "durable/rare.hpp"
#include "durable/signals.hpp"
#include "durable/slots.hpp"
#include "durable/steps.hpp"
#include "durable/timed_scopes.hpp"
#include "durable/waits.hpp"
#include "tiffany/wal/record_store.hpp"

namespace tiffany {

class HostCore;
struct DurableType;
struct ChildAtEnd;
namespace detail {
class Updates;
}

// What the log of a task says of the rules it is written by ("rules" of its Spawn). None: signals
// that are waited for are not recorded, and attempts that a process did not survive are not
// counted.
inline constexpr int kLogRules = 1;

class FlowState {
 public:
  FlowState(HostCore& host, wal::StoredTask& log, const DurableType& type);
  ~FlowState();
  FlowState(const FlowState&) = delete;
  FlowState& operator=(const FlowState&) = delete;

  // Takes in the lines of the log.
  void load(const std::vector<std::string>& lines);

  // ---- The task ----
  HostCore& host;
  wal::StoredTask& log;
  const DurableType& type;
  const detail::IdText id_text;
  TaskRecord* task = nullptr;    // that runs the code
  std::size_t bytes = 0;         // of the log that is being replayed
  std::uint64_t idle_since = 0;  // its place among those that wait (Eviction); zero: none
  struct WrittenBy {
    int version = 1;
    int rules = kLogRules;
    // What is waited for is in the log, and not only what has come.
    bool records_waits() const noexcept { return rules >= 1; }
  } written_by;
  // With its last checkpoint, behind which the names of steps and promises come again: what is
  // named after them outside begins with this.
  std::string name_outside() const;

  // ---- Its parts ----
  detail::CodeState code;
  Comparison comparison;
  detail::Slots slots;
  detail::Arrivals arrivals;
  Steps steps;
  TaskSignals signals;
  Waits waits;
  detail::Generation generation;
  struct Cancel {
    detail::Rare<std::string> why;  // none: nobody has cancelled the task
    int shields = 0;                // that are open
    bool due() const noexcept { return why.has_value() && shields == 0; }
  } cancel;
  detail::TimedScopes scopes;
  detail::Updates& updates();
  detail::Updates* any_updates() const noexcept { return updates_.get(); }  // null: none has come
  detail::RareList<Uuid> kept_promises;  // which the host knows until the code is gone

  // Of the task, as recorded: an object; empty when there are none.
  std::string attributes() const;

  // ---- Commands ----
  // Appends a record of this task. Throws when the store does; nothing has changed then.
  std::uint64_t append(wal::RecordType type, std::string_view payload,
                       const std::source_location* site = nullptr, std::uint64_t cause = 0,
                       wal::Level level = wal::Level::lazy, wal::Ticket* ticket = nullptr);
  // Holds what the code has asked for. `recorded`: in the log, with its result perhaps.
  template <class S>
  S& hold(std::unique_ptr<S> made, const detail::Command* recorded) {
    S& slot = *made;
    take(std::move(made), recorded);
    return slot;
  }
  // The same of what is new; `command` is its record.
  template <class S>
  S& hold_live(std::unique_ptr<S> made, std::uint64_t command) {
    made->command = command;
    S& slot = hold(std::move(made), nullptr);
    waits.go_live(slot);
    return slot;
  }
  // The code has given it up. What is in the log is delivered all the same, so that the order is
  // the same when the log is read; a child has to be ended with its parent.
  void drop(detail::Slot* slot) noexcept;
  // Records the result. The code is shown it when the record is on the disk.
  void settle(detail::Slot& slot, wal::RecordType type, std::string value, bool failed,
              bool unknown = false, const std::shared_ptr<detail::TaskMail>& mail = nullptr);

  // ---- The code ends ----
  void broken(const std::exception_ptr& error) noexcept;  // the log is sealed
  // Throws when somebody else than the code of the task asks: a step, perhaps.
  void require_own_code() const;
  // The waits of the code are to end: it was cancelled, or the time of a scope is over.
  bool waits_end() const noexcept { return cancel.due() || scopes.due(cancel.shields) != nullptr; }
  // Throws what such code is unwound with, if that is so.
  void check_cancelled() const;
  // The code has ended at a checkpoint, and is gone.
  void begin_anew();
  // For code that does not wait: throws what a task that is being stopped is unwound with.
  [[noreturn]] void leave_code();

 private:
  void take(std::unique_ptr<detail::Slot> slot, const detail::Command* recorded);
  std::unique_ptr<detail::Updates> updates_;  // null: there was none
};

namespace detail {

// What each kind of command is asked for with. Null: code and log differ, and the task was stopped.
Slot* issue_timer(FlowState& flow, Duration delay, const std::source_location& site);
Slot* issue_promise(FlowState& flow, const std::string& name, const ValueType& type,
                    const std::source_location& site);
Slot* issue_child(FlowState& flow, ParentEnd at_end, const std::string& type,
                  const std::string& arguments, const ValueType& result,
                  const std::source_location& site);
Slot* issue_checkpoint(FlowState& flow, const std::string& state, const std::source_location& site);
int issue_version(FlowState& flow, std::string_view change, int oldest, int newest,
                  const std::source_location& site);
struct FlowAccess {
  static FlowState& of(Flow& flow) noexcept { return *flow.state_; }
};
// Those that have not ended, in a fixed order.
std::vector<ChildAtEnd> children_of(const FlowState& flow);

}  // namespace detail

}  // namespace tiffany

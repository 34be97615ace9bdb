// What a durable task has asked for and still holds: one small type for each kind of command.
//
// A slot goes through at most four states, in this order:
//   asked     the log has the command, or will have it with the next sync
//   live      this process works for it: a timer is armed, a step runs, a child was started
//   recorded  its result was appended; nothing can change the result any more
//   arrived   the result is on the disk and was shown to the code, in the order of the log
// A slot of a task that is being replayed goes from asked to arrived when the log has its result.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

#include "durable/failure.hpp"
#include "durable/mailbox.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/core/timer.hpp"
#include "tiffany/durable/flow.hpp"
#include "tiffany/sync/event.hpp"
#include "tiffany/wal/record_store.hpp"

namespace tiffany {
class FlowEffects;
}

namespace tiffany::detail {

enum class SlotKind : std::uint8_t { step, timer, promise, child, checkpoint, signal };
std::string_view name_of(SlotKind kind) noexcept;

struct Command;
struct StepSlot;

// What all kinds have. The ticket is that of the record of the result.
struct Slot : public wal::Ticket {
  Slot(FlowState& of, SlotKind what, std::string name, const std::source_location& where);
  virtual ~Slot();
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;
  void synced(std::exception_ptr error) noexcept override;

  // The log has the command and no result: the effect is brought about.
  virtual void go_live(FlowEffects& effects) = 0;
  // The result is being shown to the code.
  virtual void come() {}
  // The slot goes: what waits for its result is taken back.
  virtual void leave() noexcept {}
  // It is kept although the code has given it up, until its result has arrived.
  virtual bool outlives_handle() const noexcept { return recorded; }
  virtual void write_result(std::string& payload, const std::string& result, bool error,
                            bool uncertain) const;
  // What the code reads the value as. Null: it was checked when it was made.
  virtual const ValueType* value_type() const noexcept { return nullptr; }
  // For others than the task; nil for what is not known outside.
  virtual Uuid public_id() const noexcept { return Uuid(); }
  StepSlot* as_step() noexcept;

  FlowState& flow;
  std::string id;      // "pay/charge#2"
  std::string value;   // JSON, or the sentence of the failure
  FailurePtr failure;  // what is known of it; null: nothing
  std::source_location site;
  std::uint64_t command = 0;  // the number of the record in which it was asked for
  std::uint32_t place = 0;    // among the slots of its flow
  SlotKind kind;
  bool live = false;
  bool recorded = false;
  bool arrived = false;
  bool failed = false;
  bool unknown = false;  // of a failure: whether the effect took place
  bool wanted = true;    // the code may still ask for it
  bool retired = false;  // asked for before the last checkpoint
};

// The record of the last heartbeat of a step.
struct Heartbeat final : public wal::Ticket {
  explicit Heartbeat(StepSlot& of) noexcept : step(of) {}
  void synced(std::exception_ptr error) noexcept override;
  StepSlot& step;
  bool under_way = false;  // it is not synced yet
  bool unsaid = false;     // the details are newer
};

struct StepSlot final : public Slot {
  StepSlot(FlowState& of, std::string name, const std::source_location& where)
      : Slot(of, SlotKind::step, std::move(name), where) {}
  void go_live(FlowEffects& effects) override;
  // A step that was begun goes on: the log is the same whenever its handle was dropped.
  bool outlives_handle() const noexcept override { return recorded || running || kept != nullptr; }
  const ValueType* value_type() const noexcept override { return type; }
  void write_result(std::string& payload, const std::string& result, bool error,
                    bool uncertain) const override;
  // Idempotency key: Attempt::key().
  std::string key() const;

  std::string hash;                      // of its arguments
  StepCode* code = nullptr;              // in the frame that waits for the step, or `kept`
  std::unique_ptr<KeptStep> kept{};      // of a step that goes on behind its statement
  const ValueType* type = nullptr;       // of such a step
  std::unique_ptr<wal::Synced> start{};  // that such a step begins has to be on the disk first
  const StepOptions* options = nullptr;
  int attempts = 0;
  bool begun = false;    // the log has its StepStart
  bool lost = false;     // its last attempt began in a process that did not survive it
  bool running = false;  // a task works for it,
  bool entered = false;  // and has begun to
  bool ask = false;      // of a transactional step: its effect may have taken place
  std::int64_t due = 0;  // when its next attempt begins; zero when it has
  std::int64_t first_begun = 0;
  std::string details;  // of the last heartbeat
  std::unique_ptr<Heartbeat> heartbeat;
  Time heard{};  // when the last heartbeat, or the beginning of the attempt, was
  Handle<void> runner;
};

struct TimerSlot final : public Slot, public Timer {
  TimerSlot(FlowState& of, std::string name, const std::source_location& where,
            std::int64_t when) noexcept;
  void go_live(FlowEffects& effects) override;
  void leave() noexcept override;
  std::int64_t due;
};

// A result that somebody else than the task gives, who knows it by its UUID.
struct AwaitedSlot : public Slot {
  AwaitedSlot(FlowState& of, SlotKind what, std::string name, const std::source_location& where,
              const Uuid& known_as, const ValueType& read_as)
      : Slot(of, what, std::move(name), where), uuid(known_as), type(read_as) {}
  void leave() noexcept override;
  const ValueType* value_type() const noexcept override { return &type; }
  Uuid public_id() const noexcept override { return uuid; }
  Uuid uuid;
  const ValueType& type;
};

struct TaskMail;

struct PromiseSlot final : public AwaitedSlot {
  using AwaitedSlot::AwaitedSlot;
  void go_live(FlowEffects& effects) override;
  void come() override;
  std::shared_ptr<TaskMail> completion;  // by somebody outside
  std::int64_t since = 0;                // when the code first asked for it, in us
};

struct ChildSlot final : public AwaitedSlot {
  using AwaitedSlot::AwaitedSlot;
  void go_live(FlowEffects& effects) override;
  void come() override;
  bool outlives_handle() const noexcept override { return true; }  // it is ended with its parent
  std::string type_name;
  std::string arguments;
  ParentEnd at_end = ParentEnd::cancel;
  bool asked_now = false;  // by the code that runs, not by that of an earlier process
};

// A place in the line of those who wait for a signal of one name.
struct SignalSlot final : public Slot {
  SignalSlot(FlowState& of, std::string command_id, std::string what,
             const std::source_location& where, const ValueType& read_as)
      : Slot(of, SlotKind::signal, std::move(command_id), where),
        name(std::move(what)),
        type(read_as) {}
  void go_live(FlowEffects&) override {}
  void leave() noexcept override;
  const ValueType* value_type() const noexcept override { return &type; }
  std::string name;
  const ValueType& type;
  SignalBox::Place place;      // for the signal, when nobody has looked at it
  std::uint64_t order = 0;     // of the signal that has come, among those of the task
  mutable bool taken = false;  // the code has looked at it
};

struct CheckpointSlot final : public Slot {
  CheckpointSlot(FlowState& of, const std::source_location& where)
      : Slot(of, SlotKind::checkpoint, "checkpoint", where) {}
  void go_live(FlowEffects& effects) override;
};

inline StepSlot* Slot::as_step() noexcept {
  return kind == SlotKind::step ? static_cast<StepSlot*>(this) : nullptr;
}

// For somebody outside who has sent something to a task, and waits until that is on the disk. The
// sender may go before, and so may the task.
struct TaskMail final : public wal::Ticket {
  void synced(std::exception_ptr failed) noexcept override;
  FlowState* flow = nullptr;
  ManualResetEvent event;
  std::exception_ptr error;
  std::string members;  // of its record, behind those of the slot: records::members_of
};

}  // namespace tiffany::detail

// What is behind a Flow: the log of one task, how far its code has come in it, and what it waits
// for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "durable/host_core.hpp"
#include "durable/mailbox.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/core/timer.hpp"
#include "tiffany/durable/flow.hpp"
#include "tiffany/sync/event.hpp"
#include "tiffany/wal/record_store.hpp"

namespace tiffany {

namespace detail {

enum class SlotKind : std::uint8_t { step, timer, promise, child, checkpoint };
std::string_view name_of(SlotKind kind) noexcept;

struct Mail;

// The record of the last heartbeat of a step.
struct Heartbeat final : public wal::Ticket {
  explicit Heartbeat(Slot& of) noexcept : slot(of) {}
  void synced(std::exception_ptr error) noexcept override;
  Slot& slot;
  bool under_way = false;  // it is not synced yet
  bool unsaid = false;     // the details are newer
};

struct Slot final : public wal::Ticket, public Timer {
  Slot(FlowState& of, SlotKind what, std::string name);
  void synced(std::exception_ptr error) noexcept override;

  FlowState& flow;
  SlotKind kind;
  std::string id;             // "pay/charge#2"
  Uuid uuid;                  // of a promise or a child
  std::uint64_t command = 0;  // the record in which it was asked for
  std::string value;          // JSON, or the sentence of the failure
  std::int64_t time = 0;      // when that was recorded
  bool recorded = false;      // the value has been appended; nothing can change it
  bool failed = false;
  bool unknown = false;    // of a failure: whether the effect took place
  bool arrived = false;    // the code may know
  bool begun = false;      // the log has its beginning (StepStart)
  bool asked_now = false;  // of a child: by the code that runs, not by one of an earlier process
  bool lost = false;       // its last attempt has begun, in a process that did not survive it
  bool wanted = true;      // somebody may still ask for it
  bool live = false;       // it is under way in this process
  bool running = false;    // a task works for it
  bool entered = false;    // and has begun to
  int attempts = 0;
  std::string details;  // the last heartbeat
  std::unique_ptr<Heartbeat> heartbeat;
  Time heard{};  // when it, or the beginning of the attempt, was
  std::string hash;
  StepCode* code = nullptr;
  const StepOptions* options = nullptr;
  std::source_location site{};
  bool ask = false;      // of a transactional step: its effect may have taken place
  std::int64_t due = 0;  // of a timer; of a step: when its next attempt begins, zero when it has
  const ValueType* type = nullptr;  // of a promise or a child: what the code reads its value as
  Handle<void> runner;
  std::shared_ptr<Mail> completion;  // of a promise, by somebody outside
  std::size_t place = 0;             // among the slots of its flow
  bool retired = false;              // or among those from before the last checkpoint
};

// A call that the log says was made.
struct Command {
  std::string kind;
  std::string id;
  std::string hash;
  std::string place;
  std::uint64_t seq = 0;
  std::int64_t due = 0;  // as in Slot
  std::string shape;     // of what is waited for; empty when the log does not say
  Uuid uuid;             // of a promise or a child
  int value = 0;         // of a version
  bool used = false;     // the code has made it again
  bool begun = false;    // a StepStart
  bool lost = false;     // its last attempt has begun, and nothing says why it did not end
  int attempts = 0;
  std::string details;
};

// What a task answers to Host::query.
class Queries {
 public:
  std::uint64_t add(std::string name, std::function<std::string()> answer);
  void remove(std::uint64_t number) noexcept;
  // Null when nobody answers that.
  const std::function<std::string()>* find(std::string_view name) const noexcept;
  bool had(std::string_view name) const noexcept;
  void clear() noexcept { all_.clear(); }
  bool empty() const noexcept { return all_.empty(); }

 private:
  struct Answer {
    std::string name;
    std::uint64_t number;
    std::function<std::string()> answer;
  };
  std::vector<Answer> all_;         // the youngest of a name answers
  std::vector<std::string> names_;  // of all that were ever answered
  std::uint64_t last_ = 0;
};

// For somebody outside who has sent something to a task, and waits until that is on the disk. He
// may go before, and so may the task.
struct Mail final : public wal::Ticket {
  void synced(std::exception_ptr failed) noexcept override;
  FlowState* flow = nullptr;
  ManualResetEvent event;
  std::exception_ptr error;
};

// Something that came to the task, in the order of the log.
struct Arrival {
  enum class Kind : std::uint8_t { slot, signal, cancel };
  Kind kind = Kind::slot;
  Slot* slot = nullptr;
  std::string
      id;  // of the slot, when it is not known yet; the name of a signal; why it was cancelled
  std::string value;
  bool failed = false;
  bool unknown = false;
  std::int64_t time = 0;
  std::uint64_t seq = 0;
  std::shared_ptr<Mail> mail{};
};

// First in, first out; mostly there is one.
class ArrivalQueue {
 public:
  ArrivalQueue() = default;
  explicit ArrivalQueue(std::vector<Arrival> all) noexcept : all_(std::move(all)) {}

  bool empty() const noexcept { return first_ == all_.size(); }
  std::size_t size() const noexcept { return all_.size() - first_; }
  auto begin() const noexcept { return all_.begin() + static_cast<std::ptrdiff_t>(first_); }
  auto end() const noexcept { return all_.end(); }
  void push_back(Arrival arrival) { all_.push_back(std::move(arrival)); }
  Arrival take() {
    Arrival taken = std::move(all_[first_]);
    // No more is moved than was taken.
    if (++first_ == all_.size() || (first_ >= kMostTaken && first_ * 2 >= all_.size())) {
      all_.erase(all_.begin(), begin());
      first_ = 0;
    }
    return taken;
  }

 private:
  static constexpr std::size_t kMostTaken = 1024;  // which may be kept though there are few others
  std::vector<Arrival> all_;
  std::size_t first_ = 0;  // those before it were taken
};

}  // namespace detail

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

  // Takes in the lines of the log, and gives the arguments of the task.
  void load(const std::vector<std::string>& lines);

  // ---- For calls ----
  using Slot = detail::Slot;
  bool begin_wait(DurableCall& call, TaskRecord& running);
  void end_wait() noexcept { waiting_ = nullptr; }
  Slot* issue_step(std::string_view name, const StepOptions& options, detail::StepCode& code,
                   const std::source_location& site);
  Slot* issue_timer(Duration delay, const std::source_location& site);
  Slot* issue_promise(const std::string& name, const detail::ValueType& type,
                      const std::source_location& site);
  Slot* issue_child(const std::string& type, const std::string& arguments,
                    const detail::ValueType& result, const std::source_location& site);
  void issue_signal(const std::string& name, const detail::ValueType& type, bool timed,
                    const std::source_location& site);
  // What is waited for is in the log, and not only what has come.
  bool records_waits() const noexcept { return rules_ >= 1; }
  Slot* issue_checkpoint(const std::string& state, const std::source_location& site);
  int version(std::string_view change, int oldest, int newest, const std::source_location& site);
  bool has_signal(const std::string& name) const noexcept;
  std::string take_signal(const std::string& name);
  void check_cancelled() const;
  void drop(Slot* slot) noexcept;

  // ---- From outside ----
  void record_synced() noexcept;                          // the next record is synced
  void broken(const std::exception_ptr& error) noexcept;  // the log is sealed
  // A signal or a cancel: recorded here, and delivered when it is on the disk.
  std::shared_ptr<detail::Mail> send(detail::Arrival::Kind kind, std::string name,
                                     std::string value);
  // The code is being ended from outside, without a word in the log. True: it can be at once.
  bool unwind() noexcept;
  bool unwinding() const noexcept { return unwinding_; }
  void step_ended() noexcept;
  // The code has returned. False: that is not what the log says, and the task has been stopped.
  bool finish();
  // A recorded value is none of that type. The task has been stopped.
  void value_differs(const detail::ValueType& type, std::string_view what, std::string_view json,
                     std::string_view why);
  // For code that does not wait: throws what a task that is being stopped is unwound with.
  [[noreturn]] void leave_code();
  // A checkpoint is on the disk, and the code that made it is gone.
  void begin_anew();
  // It is among those that the host counts as being replayed.
  bool counted() const noexcept { return !live_; }
  void settle(Slot& slot, wal::RecordType type, std::string value, bool failed,
              bool unknown = false, const std::shared_ptr<detail::Mail>& mail = nullptr);
  void record_start(Slot& slot, const std::source_location* site, wal::Level level,
                    wal::Ticket* ticket = nullptr);

  void record_heartbeat(Slot& slot);

  void heard_from(Slot& slot) const noexcept;

  HostCore& host() const noexcept { return host_; }
  const Uuid& id() const noexcept { return log_.id; }
  bool replaying() const noexcept {
    return !live_ && (next_command_ < commands_.size() || synced_ > 0);
  }
  // Throws when somebody else than the code of the task asks: a step, perhaps.
  void require_own_code() const;

  std::uint64_t append(wal::RecordType type, std::string_view payload,
                       const std::source_location* site = nullptr, std::uint64_t cause = 0,
                       wal::Level level = wal::Level::lazy, wal::Ticket* ticket = nullptr);

  Flow flow{*this};
  std::string arguments = "[]";
  std::optional<std::string> saved;  // the state of the last checkpoint
  std::string path;
  std::shared_ptr<detail::Queries> queries = std::make_shared<detail::Queries>();
  Random random;
  std::int64_t now = 0;
  std::string divergence;  // why it was stopped
  bool asked_anything = false;
  TaskRecord* task = nullptr;
  std::vector<Uuid> children() const;
  int shields = 0;
  void* caller = nullptr;      // the frame that called the code
  bool at_checkpoint = false;  // the code has ended at one, which is on the disk
  std::uint64_t trace = 0;     // over what was asked for, and what came
  std::size_t compared = 0;
  std::size_t bytes = 0;  // of the log that is being replayed
  // The task and its last checkpoint, behind which the names of steps and promises come again: what
  // is named after them outside begins with this.
  std::string name_outside() const;

 private:
  friend struct detail::Slot;
  std::string next_id(std::string_view name, std::string_view kind = {});
  // The record of this call in the log. Null: it is new. `differs`: the task has been stopped.
  detail::Command* match(std::string_view kind, const std::string& id, const std::string& hash,
                         const std::source_location& site, bool& differs,
                         std::string_view shape = {});
  detail::Command* find_recorded(std::string_view kind, const std::string& id) noexcept;
  // The first call of the log that the code has not made, and must. Null: there is none.
  const detail::Command* left_over() noexcept;
  bool values_decode();
  std::int64_t wall_after(Duration delay) const noexcept;
  std::string mailbox_json(bool whole) const;
  std::size_t mailbox_size() const noexcept;
  void read_mailbox(std::string_view recorded);
  Slot* make_slot(detail::SlotKind kind, std::string id, const detail::Command* recorded,
                  const std::source_location& site);
  void erase(Slot* slot) noexcept;
  void arrive(Slot& slot, detail::Arrival& arrival);
  // The code is newer than the log: it may ask for more than was asked for then.
  bool lenient() const noexcept { return log_version_ != type_.version; }
  bool cancel_comes_first() noexcept;
  bool advance();
  void deliver(detail::Arrival& arrival);
  void caught_up();
  void go_live(Slot& slot);
  void go_live_step(Slot& slot);
  static int most_begun(const Slot& slot) noexcept;
  void would_do(Slot& slot);
  void begin_step(Slot& slot);
  void begin_generation(std::uint64_t checkpoint);
  bool stop_step(std::string_view why) noexcept;
  void plan_next_attempt(Slot& slot);
  void begin_runner(Slot& slot);
  Task<void> run_step(Slot* slot);
  Task<void> make_attempts(Slot* slot);
  Task<void> run_code(Slot* slot, Attempt* attempt, std::string* result, bool* late);
  Task<void> until_silent(Slot* slot);
  Task<std::string> try_step(Slot* slot, Attempt* attempt, std::string* result, bool* late);
  static bool found_done(const Slot& slot, const Attempt& attempt, std::string& result);
  void try_inline(Slot& slot);
  void diverge(std::string text);
  bool cancel_is_due() const noexcept { return cancelled_.has_value() && shields == 0; }
  void go_on() noexcept;

  HostCore& host_;
  wal::StoredTask& log_;
  std::string id_text_;
  std::uint64_t seed_;  // of what is drawn; that of the task whose fork this is
  const DurableType& type_;
  int log_version_ = 1;
  int rules_ = kLogRules;  // by which its log was written
  DurableCall* waiting_ = nullptr;
  std::unordered_map<std::string, std::uint32_t> uses_;
  std::pair<const std::string, std::uint32_t>* last_use_ = nullptr;  // often the next one, too
  std::vector<std::unique_ptr<Slot>> slots_;
  std::unordered_map<std::string_view, Slot*> recorded_;  // by Slot::id, those that the log knows
  std::vector<detail::Command> commands_;
  std::size_t next_command_ = 0;
  std::vector<std::unique_ptr<Slot>> retired_;  // from before the last checkpoint
  std::unordered_map<std::string, detail::Arrival> early_;
  std::vector<Uuid> kept_;         // promises
  detail::ArrivalQueue arrivals_;  // in the order of the log
  std::size_t synced_ = 0;         // how many of them are on the disk
  std::size_t cancels_ = 0;        // how many of them are cancels
  bool unsynced_ = false;          // something was asked for that may not be on its way yet
  bool held_ = false;              // nothing was asked for, as a cancel comes first
  detail::SignalBox mailbox_;
  std::optional<std::string> cancelled_;
  Slot* busy_ = nullptr;  // the step that a task works for
  bool unwinding_ = false;
  bool live_ = false;             // the end of the log was reached once
  bool back_ = false;             // it was loaded, and no step has ended since
  bool checked_ = true;           // the recorded values of what the code has are of the right types
  bool inline_ = false;           // the code of a step runs in the task itself
  std::uint64_t checkpoint_ = 0;  // which one was the last; by older rules, its record
  std::string next_state_;        // of the checkpoint that is being made
  std::string generation_ = "0";  // of names that come again after a checkpoint or a retry
  std::string& payload_;          // scratch of the host
};

}  // namespace tiffany

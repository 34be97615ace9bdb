// PAL, the channel of progress: what happens to tasks, told to whoever looks, as it happens.
//
//   observe::Pal pal;
//   pal.emit(observe::PalEvent(task, observe::stage::kIdle, "waits for the next instruction"));
//   pal.emit(event, [&](JsonWriter& data) { data.member("step", 3); });
//
//   observe::PalSubscription all = pal.subscribe(observe::PalFilter());
//   while (auto frame = co_await all.next()) send(*frame->text);
//
// The log is the record; this is the view. Nothing is written to a disk, nobody waits for a reader,
// and what a reader does or does not do changes nothing but a count. A channel is what is told of
// one task (of the runtime: the nil UUID): its events of one kind have numbers without gaps
// ("seq"), so that a reader sees what it missed.
//
// A reader has a bounded queue. When it is full the oldest event is dropped, and the next frame is
// {"type":"lagged","dropped":N,"next_seq":S}. The first frame is a snapshot, unless the reader says
// which event it has seen last and that one is still kept.
//
// JSON is made for events that somebody reads or that are kept; what it is made of is not looked at
// otherwise. The form of an event: docs/19-observing.md.
//
// Thread safety: none; a hub belongs to one scheduler. Lifetime: a subscription outlives its hub;
// next() gives nothing then.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tiffany/base/json.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/sync/event.hpp"

namespace tiffany::observe {

enum class PalKind : std::uint8_t { agent, sched, runtime };
std::string_view name_of(PalKind kind) noexcept;

// Stages: what an event says has happened. The nine of an agent, those of the scheduler, and those
// of the runtime.
namespace stage {
inline constexpr std::string_view kReceivedInstruction = "ReceivedInstruction";
inline constexpr std::string_view kWaitingForLlm = "WaitingForLLM";
inline constexpr std::string_view kToolExecutionStart = "ToolExecutionStart";
inline constexpr std::string_view kToolExecutionComplete = "ToolExecutionComplete";
inline constexpr std::string_view kPreviewingPatch = "PreviewingPatch";
inline constexpr std::string_view kAwaitingUserApproval = "AwaitingUserApproval";
inline constexpr std::string_view kCommittingPatch = "CommittingPatch";
inline constexpr std::string_view kIdle = "Idle";
inline constexpr std::string_view kCompleted = "Completed";

inline constexpr std::string_view kSpawn = "Spawn";
inline constexpr std::string_view kYield = "Yield";
inline constexpr std::string_view kWake = "Wake";
inline constexpr std::string_view kSleep = "Sleep";
inline constexpr std::string_view kIoWait = "IoWait";
inline constexpr std::string_view kJoinWait = "JoinWait";
inline constexpr std::string_view kEventWait = "EventWait";
inline constexpr std::string_view kDone = "Done";
inline constexpr std::string_view kPanic = "Panic";
inline constexpr std::string_view kCancelled = "Cancelled";
inline constexpr std::string_view kSpawnDenied = "SpawnDenied";
inline constexpr std::string_view kBudgetThrottle = "BudgetThrottle";

inline constexpr std::string_view kBackpressure = "Backpressure";
inline constexpr std::string_view kLint = "Lint";
inline constexpr std::string_view kShutdownBegin = "ShutdownBegin";
inline constexpr std::string_view kShutdownComplete = "ShutdownComplete";
}  // namespace stage

// One thing that has happened. Texts are looked at during emit() only.
class PalEvent {
 public:
  PalEvent(const Uuid& of, std::string_view what, std::string_view words = {},
           PalKind which = PalKind::agent) noexcept
      : task(of), stage(what), message(words), kind(which) {}

  Uuid task;  // nil: the runtime
  std::string_view stage;
  std::string_view message;  // a sentence for people; what is beyond 512 bytes is cut
  PalKind kind;
  TaskId tid{};     // of the coroutine
  TaskId parent{};  // that spawned it
  std::source_location site{};
  bool ghost = false;    // told again by a replay
  std::int64_t at = -1;  // when it happened, in nanoseconds on the clock of the scheduler; -1: now
};

class PalFilter {
 public:
  PalFilter() = default;
  std::optional<Uuid> task{};  // only this channel
  bool agent = true;
  bool sched = false;
  bool runtime = true;

  bool takes(const PalEvent& event) const noexcept;
};

// What a reader gets. `text` is one JSON object without a line break.
struct PalFrame {
  enum class Type : std::uint8_t { snapshot, event, lagged };
  Type type = Type::event;
  std::string id{};  // "<epoch>-<number>": what to go on after; empty for lagged
  std::shared_ptr<const std::string> text{};
};

class PalOptions {
 public:
  PalOptions() = default;
  std::size_t queue = 1024;  // events that wait for one reader; at least 1
  std::size_t keep = 1024;   // of agents and the runtime, for readers that come back
  // Members of the snapshot object, for the filter of the reader.
  std::function<void(JsonWriter&, const PalFilter&)> snapshot{};
};

struct PalCounts {
  std::uint64_t events[3] = {};  // emitted, by kind
  std::uint64_t dropped = 0;     // from queues of readers
  std::size_t subscribers = 0;
  std::size_t channels = 0;
};

class PalSubscription;

class Pal {
 public:
  explicit Pal(PalOptions options = PalOptions());
  ~Pal();
  Pal(const Pal&) = delete;
  Pal& operator=(const Pal&) = delete;

  void emit(const PalEvent& event) {
    emit(event, [](JsonWriter&) {});
  }
  // `data(writer)` writes the members of "data", and is called only when somebody needs them. What
  // it throws is counted as an event without data.
  template <class Data>
  void emit(const PalEvent& event, const Data& data) {
    if (begin(event)) {
      JsonWriter writer(draft_);
      begin_data(event, writer);
      const std::size_t before = draft_.size();
      try {
        data(writer);
      } catch (...) {
        draft_.resize(before);
      }
      finish(event);
    }
    if (is_last(event)) forget(event.task);
  }
  // Whether an event of that kind would be made into text: to leave out what is costly.
  bool wanted(PalKind kind) const noexcept;

  // The channel is over: its numbers begin anew if it is used again. Done by the last event of an
  // agent (kCompleted), and by that of a task that only the scheduler told of (kDone, kPanic,
  // kCancelled).
  void forget(const Uuid& task) noexcept { channels_.erase(task); }

  // `after`: the id of the last frame that the reader has seen; empty, unknown or no longer kept:
  // it begins with a snapshot.
  PalSubscription subscribe(PalFilter filter, std::string_view after = {});
  // Those who read get what is there, and then the end.
  void dismiss() noexcept;
  PalCounts counts() const noexcept;

 private:
  friend class PalSubscription;
  struct Told {
    std::uint64_t number;  // of the hub
    std::uint64_t seq;     // of the channel
    Uuid task;
    PalKind kind;
    std::shared_ptr<const std::string> text;
  };
  struct Reader;

  bool begin(const PalEvent& event);
  bool is_last(const PalEvent& event) const noexcept;
  void begin_data(const PalEvent& event, JsonWriter& writer);
  void finish(const PalEvent& event);
  std::string id_of(std::uint64_t number) const;
  std::shared_ptr<const std::string> snapshot(const PalFilter& filter) const;

  PalOptions options_;
  std::uint64_t epoch_;  // of this hub: ids of another do not fit
  std::uint64_t last_ = 0;
  std::uint64_t seq_ = 0;                        // of the event that is being emitted
  using Numbers = std::array<std::uint64_t, 3>;  // the last ones, by kind
  std::unordered_map<Uuid, Numbers, UuidHash> channels_;
  std::deque<Told> kept_;
  std::vector<std::shared_ptr<Reader>> readers_;
  std::string draft_;
  PalCounts counted_;
};

// Move-only; leaves the hub when it goes.
class PalSubscription {
 public:
  PalSubscription(PalSubscription&&) noexcept = default;
  PalSubscription& operator=(PalSubscription&& other) noexcept;
  ~PalSubscription();

  // The next frame; nothing when the hub or the subscription is gone and everything was read.
  // Cancel: nothing is lost.
  Task<std::optional<PalFrame>> next() { return wait(reader_); }
  // The same without waiting; nothing when there is none.
  std::optional<PalFrame> try_next();
  std::uint64_t dropped() const noexcept;

 private:
  friend class Pal;
  explicit PalSubscription(std::shared_ptr<Pal::Reader> reader) noexcept
      : reader_(std::move(reader)) {}
  static std::optional<PalFrame> take(Pal::Reader& reader);
  static Task<std::optional<PalFrame>> wait(std::shared_ptr<Pal::Reader> reader);
  std::shared_ptr<Pal::Reader> reader_;
};

}  // namespace tiffany::observe

#include "tiffany/observe/scheduler_stages.hpp"

#include <array>
#include <string>

#include "tiffany/core/sleep.hpp"

namespace tiffany::observe {

namespace {

// As many as are told before others have their turn.
constexpr std::size_t kAtATime = 128;

std::string_view stage_of_wait(WaitKind kind) noexcept {
  switch (kind) {
    case WaitKind::sleep:
      return stage::kSleep;
    case WaitKind::io:
      return stage::kIoWait;
    case WaitKind::join:
      return stage::kJoinWait;
    default:
      return stage::kEventWait;
  }
}

// Empty: none.
std::string_view stage_of(const Event& event) noexcept {
  switch (event.kind) {
    case EventKind::admit:
      return stage::kSpawn;
    case EventKind::stop:
      if (event.state() == TaskState::suspended) return stage::kYield;
      return event.state() == TaskState::preempted ? stage::kBudgetThrottle : std::string_view();
    case EventKind::park:
      return stage_of_wait(event.wait());
    case EventKind::wake:
      return stage::kWake;
    case EventKind::end:
      if (event.state() == TaskState::failed) return stage::kPanic;
      return event.state() == TaskState::completed ? stage::kDone : stage::kCancelled;
    case EventKind::deny:
      return stage::kSpawnDenied;
    default:
      return {};
  }
}

void write_data(const Event& event, JsonWriter& data) {
  const auto duration = [&](std::string_view name) {
    if (event.duration != Event::kUnknown) data.member(name, event.duration);
  };
  switch (event.kind) {
    case EventKind::stop:
      duration("run_ns");
      data.member("reason", event.state() == TaskState::suspended ? "explicit" : "budget");
      break;
    case EventKind::park:
      if (event.call != nullptr) data.member("call", event.call->name);
      data.member("for", tiffany::name_of(event.wait()));
      break;
    case EventKind::wake:
      data.member("by", event.cancelled() ? "cancel" : tiffany::name_of(event.wait()));
      if (event.by) data.member("by_tid", event.by.slot());
      duration("wait_ns");
      break;
    case EventKind::end:
      duration("dur_ns");
      break;
    default:
      break;
  }
}

// Tells up to kAtATime events, but for those of the task that tells. False: there are no more up to
// that number.
bool tell_some(EventReader& reader, Pal& pal, TaskId self, std::uint64_t until) {
  std::array<Event, kAtATime> events;
  const std::size_t count = reader.read(events);
  for (std::size_t i = 0; i < count; ++i) {
    if (events[i].task != self) tell_stage(events[i], pal);
  }
  return count == kAtATime && events[count - 1].number < until;
}

}  // namespace

namespace detail {

// Switches the recorder on while it is asked for, and leaves one alone that was on before.
class RecorderSwitch {
 public:
  explicit RecorderSwitch(Recorder& recorder) noexcept : recorder_(recorder) {}
  ~RecorderSwitch() { set(false); }
  RecorderSwitch(const RecorderSwitch&) = delete;
  RecorderSwitch& operator=(const RecorderSwitch&) = delete;
  void set(bool on) {
    if (on && !recorder_.on()) {
      recorder_.start();
      ours_ = true;
    } else if (!on && ours_) {
      recorder_.stop();
      ours_ = false;
    }
  }

 private:
  Recorder& recorder_;
  bool ours_ = false;
};

}  // namespace detail

bool tell_stage(const Event& event, Pal& pal) {
  const std::string_view what = stage_of(event);
  if (what.empty()) return false;
  PalEvent told(Uuid(), what, {}, PalKind::sched);
  told.tid = event.task;
  told.at = event.at;
  if (event.kind == EventKind::admit) {
    told.parent = event.by;
    told.site = event.site;
  }
  std::string text;
  if (event.kind == EventKind::deny) {
    text = event.text();
    told.message = text;
  }
  pal.emit(told, [&event](JsonWriter& data) { write_data(event, data); });
  return true;
}

Task<void> tell_stages(Recorder* recorder, Pal* pal, Duration every) {
  const TaskId self = this_task::id();
  detail::RecorderSwitch on(*recorder);
  EventReader reader(recorder->ring(), EventReader::From::now);
  std::uint64_t lost = 0;
  for (;;) {
    const bool wanted = pal->wanted(PalKind::sched);
    if (!wanted) reader = EventReader(recorder->ring(), EventReader::From::now);
    on.set(wanted);
    // What comes while these are told is for the next look: telling must not run after itself.
    const std::uint64_t until = recorder->ring().count();
    while (wanted && tell_some(reader, *pal, self, until)) co_await yield();
    if (wanted && reader.dropped() > lost) {
      const std::string text = std::to_string(reader.dropped() - lost) +
                               " events of the scheduler were overwritten before they were told";
      pal->emit(PalEvent(Uuid(), stage::kLint, text, PalKind::runtime));
    }
    lost = reader.dropped();
    co_await sleep(every);
  }
}

}  // namespace tiffany::observe

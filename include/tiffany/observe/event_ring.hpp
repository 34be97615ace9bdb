// The event ring: the last so many transitions of tasks, 64 bytes each.
//
// Writing an event is a copy of 64 bytes: no allocation, no lock, no text. When the ring is full
// the oldest event is overwritten. A reader that was too slow is told exactly how many it missed;
// readers know nothing of one another, and the writer knows nothing of readers.
//
//   observe::EventReader reader(recorder.ring());
//   observe::Event events[256];
//   while (const std::size_t count = reader.read(events)) use(std::span(events, count));
//
// What must be exact is in Counters, which never drops anything. To watch from elsewhere, use PAL.
//
// Thread safety: none; ring and readers belong to the thread of the scheduler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>

#include "tiffany/core/guard.hpp"
#include "tiffany/core/id.hpp"
#include "tiffany/core/state.hpp"
#include "tiffany/core/system_call.hpp"

namespace tiffany::observe {

enum class EventKind : std::uint8_t {
  admit,     // spawned, and ready unless `hold` follows
  hold,      // waits for others to end before it begins
  release,   // does not any more, and is ready
  run,       // has the processor; `duration`: how long it was ready
  stop,      // gives it back, see `state`; `duration`: how long it had it
  park,      // waits, see `call` and `wait`
  wake,      // what it waited for has come, or a cancel; `duration`: how long it waited
  throttle,  // its quantum is spent
  cancel,    // it was asked to stop
  end,       // see `state`; `duration`: since it was spawned
  deny,      // a spawn was denied, see `limit`; `task` is none
};
inline constexpr std::size_t kEventKinds = 11;
std::string_view name_of(EventKind kind) noexcept;

struct Event {
  static constexpr std::int64_t kUnknown = -1;

  std::uint64_t number = 0;  // in its ring, from 1 on
  std::int64_t at = 0;       // nanoseconds on the clock of the recorder
  TaskId task{};
  TaskId by{};  // the task that ran when this happened; none: the loop
  std::int64_t duration = kUnknown;
  const CallName* call = nullptr;  // of park
  std::source_location site{};     // of admit: where it was spawned
  std::uint32_t ready = 0;         // how many tasks were ready, after this
  std::uint16_t task_class = 0;    // Recorder::class_name; 0: not known yet
  EventKind kind = EventKind::admit;
  std::uint8_t detail = 0;

  // Of stop and end.
  TaskState state() const noexcept { return static_cast<TaskState>(detail & ~kFirst); }
  bool first() const noexcept { return (detail & kFirst) != 0; }  // of stop: its first slice
  WaitKind wait() const noexcept { return static_cast<WaitKind>(detail & ~kCancelled); }
  bool cancelled() const noexcept { return (detail & kCancelled) != 0; }  // of wake: by a cancel
  SpawnDenied::Limit limit() const noexcept { return static_cast<SpawnDenied::Limit>(detail); }

  // For people and for tests: `wake #3 sleep by #1`. Without times.
  std::string text() const;

  static constexpr std::uint8_t kCancelled = 0x80;
  static constexpr std::uint8_t kFirst = 0x40;
};
static_assert(sizeof(Event) == 64, "an event is as long as a cache line");

class EventRing {
 public:
  // At least so many events, rounded up to a power of two. Throws std::bad_alloc.
  explicit EventRing(std::size_t capacity);

  void push(const Event& event) noexcept {
    Event& place = lines_[count_ & mask_].event;
    place = event;
    place.number = ++count_;
  }
  // The same without a copy: the place of an event that has its number, and whose other members
  // are those of an older one. All of them are to be written at once.
  Event& next() noexcept {
    Event& place = lines_[count_ & mask_].event;
    place.number = ++count_;
    // The ring is larger than what the processor keeps near.
    __builtin_prefetch(&lines_[(count_ + kAhead) & mask_], 1);
    return place;
  }
  // The same for two events that follow one another.
  struct Two {
    Event& first;
    Event& second;
  };
  Two next_two() noexcept {
    const std::uint64_t count = count_;
    const std::size_t mask = mask_;
    Line* const lines = lines_.get();
    __builtin_prefetch(&lines[(count + kAhead + 1) & mask], 1);
    __builtin_prefetch(&lines[(count + kAhead + 2) & mask], 1);
    Event& first = lines[count & mask].event;
    Event& second = lines[(count + 1) & mask].event;
    first.number = count + 1;
    second.number = count_ = count + 2;
    return {first, second};
  }
  std::size_t capacity() const noexcept { return mask_ + 1; }
  // All that were ever written. Those up to count() - capacity() are overwritten.
  std::uint64_t count() const noexcept { return count_; }

 private:
  friend class EventReader;
  static constexpr std::size_t kAhead = 6;
  std::size_t mask_;
  std::uint64_t count_ = 0;
  struct alignas(64) Line {  // of the cache
    Event event;
  };
  std::unique_ptr<Line[]> lines_;
};

class EventReader {
 public:
  enum class From : std::uint8_t { oldest, now };
  // The ring outlives the reader.
  explicit EventReader(const EventRing& ring, From from = From::oldest) noexcept;

  // Copies the next events in their order, and says how many; 0: there are no more at the moment.
  std::size_t read(std::span<Event> into) noexcept;
  // Events that were overwritten before this reader came to them.
  std::uint64_t dropped() const noexcept { return dropped_; }

 private:
  const EventRing* ring_;
  std::uint64_t next_;  // how many were read or dropped
  std::uint64_t dropped_ = 0;
};

}  // namespace tiffany::observe

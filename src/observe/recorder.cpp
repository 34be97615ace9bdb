#include "tiffany/observe/recorder.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany::observe {

namespace {

constexpr std::array<std::int64_t, 13> kSliceBounds = {
    1'000,      4'000,      16'000,      64'000,        256'000,       1'024'000,     4'096'000,
    16'384'000, 65'536'000, 262'144'000, 1'048'576'000, 4'000'000'000, 16'000'000'000};
constexpr std::array<std::int64_t, 17> kCompletionBounds = {
    10'000'000,        20'000'000,        40'000'000,     80'000'000,     160'000'000,
    320'000'000,       640'000'000,       1'280'000'000,  2'560'000'000,  5'120'000'000,
    10'240'000'000,    20'480'000'000,    40'960'000'000, 81'920'000'000, 600'000'000'000,
    3'600'000'000'000, 86'400'000'000'000};

// Bounds by the highest bit of a time: among times of one highest bit there is one bound at the
// most, so that the bucket of a time is found with one comparison.
template <std::size_t kBounds>
class Buckets {
 public:
  explicit constexpr Buckets(const std::array<std::int64_t, kBounds>& bounds) {
    for (std::size_t bit = 0; bit < first_.size(); ++bit) {
      std::uint8_t at = 0;
      while (at < kBounds && highest_bit(bounds[at]) < bit) ++at;
      first_[bit] = at;
      bound_[bit] = at < kBounds && highest_bit(bounds[at]) == bit
                        ? bounds[at]
                        : std::numeric_limits<std::int64_t>::max();
    }
  }
  constexpr std::size_t of(std::int64_t took) const noexcept {
    const std::size_t bit = highest_bit(took);
    return first_[bit] + (took > bound_[bit] ? std::size_t{1} : std::size_t{0});
  }
  // Compared with what it stands for.
  constexpr bool right(const std::array<std::int64_t, kBounds>& bounds) const noexcept {
    for (std::size_t i = 0; i < kBounds; ++i) {
      if (of(bounds[i]) != i || of(bounds[i] + 1) != i + 1) return false;
    }
    return of(0) == 0 && of(std::numeric_limits<std::int64_t>::max()) == kBounds;
  }

 private:
  // Of 0 as of 1, which saves a test: no bound is below 2.
  static constexpr std::size_t highest_bit(std::int64_t took) noexcept {
    return 63U ^ static_cast<unsigned>(std::countl_zero(static_cast<std::uint64_t>(took) | 1));
  }
  std::array<std::int64_t, 64> bound_{};  // among the times of that highest bit
  std::array<std::uint8_t, 64> first_{};  // the bucket of those that are not above it
};
constexpr Buckets kSliceBuckets(kSliceBounds);
constexpr Buckets kCompletionBuckets(kCompletionBounds);
static_assert(kSliceBuckets.right(kSliceBounds) && kCompletionBuckets.right(kCompletionBounds));

template <std::size_t kBounds>
void add(Durations<kBounds>& to, const Buckets<kBounds>& buckets, std::int64_t took) noexcept {
  if (took < 0) return;
  ++to.in_bucket[buckets.of(took)];
  to.sum_ns += static_cast<std::uint64_t>(took);
}

std::int64_t since(std::int64_t then, std::int64_t now) noexcept {
  return then == Event::kUnknown ? Event::kUnknown : now - then;
}

template <std::size_t kBounds>
void write_times(Sample& out, std::string_view name, std::string_view help,
                 std::span<const double> bounds, const std::vector<ClassTimes>& classes,
                 Durations<kBounds> ClassTimes::* which) {
  out.head(MetricType::histogram, name, help);
  for (const ClassTimes& each : classes) {
    const Durations<kBounds>& times = each.*which;
    const bool any = std::any_of(times.in_bucket.begin(), times.in_bucket.end(),
                                 [](std::uint64_t count) { return count > 0; });
    if (!any) continue;
    const Sample::Label label[] = {{"class", each.name}};
    out.histogram(label, bounds, times.in_bucket, static_cast<double>(times.sum_ns) / 1e9);
  }
}

}  // namespace

Recorder::Recorder(Scheduler& scheduler, RecorderOptions options)
    : scheduler_(&scheduler), options_(std::move(options)), ring_(options_.events) {
  if (!options_.clock && !scheduler.virtual_time()) ticks_.emplace();
  // So that a class is found without an allocation.
  options_.most_classes = std::min<std::size_t>(options_.most_classes, 60'000);
  classes_.resize(2);
  classes_[0].name = "unknown";
  classes_[kOther].name = "other";
}

Recorder::~Recorder() { stop(); }

void Recorder::start() {
  if (on_) return;
  if (scheduler_ == nullptr) {
    throw Error(Errc::bad_argument,
                "A recorder was started whose scheduler is gone. Make one for the new scheduler.");
  }
  if (scheduler_->observer() != nullptr) {
    throw Error(Errc::bad_argument,
                "A recorder was started for a scheduler that another one records. Use that one: a "
                "ring has any number of readers.");
  }
  for (Known& each : tasks_) each = Known();
  ready_ = static_cast<std::uint32_t>(scheduler_->ready_len());
  running_ = TaskId();
  stopped_ = -1;
  on_ = true;
  scheduler_->set_observer(this);
}

void Recorder::stop() noexcept {
  if (!std::exchange(on_, false) || scheduler_ == nullptr) return;
  scheduler_->set_observer(nullptr);
}

void Recorder::scheduler_gone() noexcept {
  on_ = false;
  scheduler_ = nullptr;
}

std::int64_t Recorder::other_now() const {
  if (options_.clock) return options_.clock().count();
  return scheduler_ != nullptr ? scheduler_->now().time_since_epoch().count() : 0;
}

// ---- Tasks and their classes ----

// A task that has not been seen before, or not since its slot was another's.
[[gnu::noinline]] Recorder::Known& Recorder::unknown(TaskId task) noexcept {
  const std::size_t slot = task.slot() - 1;
  if (slot >= tasks_.size()) {
    try {
      tasks_.resize(std::max(slot + 1, 2 * tasks_.size()));
      slots_ = tasks_.size();
    } catch (const std::bad_alloc&) {
      return nowhere_ = Known();
    }
  }
  tasks_[slot] = Known();
  tasks_[slot].task = task;
  return tasks_[slot];
}

std::int64_t Recorder::ready_since(TaskId task) const noexcept {
  const std::size_t slot = task.slot() - 1;
  if (slot >= tasks_.size() || tasks_[slot].task != task) return Event::kUnknown;
  return tasks_[slot].ready;
}

// Asked when a task begins and not when it is spawned: a name is given to it in between.
std::uint16_t Recorder::class_of(const TaskRecord& task) noexcept {
  try {
    if (!task.name().empty()) return class_named(task.name());
    const std::source_location& site = task.spawn_site();
    const auto address = reinterpret_cast<std::uintptr_t>(site.file_name());
    Place& place = places_[(address / 8 + site.line()) % places_.size()];
    if (place.file != site.file_name() || place.line != site.line() || place.task_class == 0) {
      place = Place{site.file_name(), site.line(), class_named(site_text(site))};
    }
    return place.task_class;
  } catch (const std::bad_alloc&) {
    return kOther;
  }
}

std::uint16_t Recorder::class_named(std::string_view name) {
  std::string key(name);
  const auto found = names_.find(key);
  if (found != names_.end()) return found->second;
  if (names_.size() >= options_.most_classes) return kOther;
  classes_.emplace_back().name = key;
  const auto number = static_cast<std::uint16_t>(classes_.size() - 1);
  names_.emplace(std::move(key), number);
  return number;
}

[[gnu::always_inline]] inline void Recorder::fill(Event& made, EventKind kind, TaskId task,
                                                  std::uint16_t task_class, std::int64_t at,
                                                  std::int64_t duration, unsigned detail,
                                                  std::uint32_t ready) noexcept {
  made.at = at;
  made.task = task;
  made.by = TaskId();
  made.duration = duration;
  made.call = nullptr;
  made.site = std::source_location();
  made.ready = ready;
  made.task_class = task_class;
  made.kind = kind;
  made.detail = static_cast<std::uint8_t>(detail);
}

Event& Recorder::event(EventKind kind, TaskId task, const Known& of, std::int64_t at) noexcept {
  Event& made = ring_.next();
  const std::uint64_t number = made.number;
  made = Event();
  made.number = number;
  made.at = at;
  made.task = task;
  if (const TaskRecord* const runs = scheduler_->running()) made.by = runs->id();
  made.ready = ready_;
  made.task_class = of.task_class;
  made.kind = kind;
  return made;
}

// ---- Transitions ----

void Recorder::admitted(const TaskRecord& task) noexcept {
  Known& of = known(task.id());
  of.spawned = of.ready = now();
  ++ready_;
  Event& made = event(EventKind::admit, task.id(), of, of.spawned);
  made.site = task.spawn_site();
}

void Recorder::held(const TaskRecord& task) noexcept {
  Known& of = known(task.id());
  of.ready = Event::kUnknown;
  --ready_;
  event(EventKind::hold, task.id(), of, now());
}

void Recorder::released(const TaskRecord& task) noexcept {
  Known& of = known(task.id());
  of.ready = now();
  ++ready_;
  event(EventKind::release, task.id(), of, of.ready);
}

[[gnu::always_inline]] inline void Recorder::begin_slice(Event& made, const TaskRecord& task,
                                                         std::int64_t at,
                                                         std::uint32_t ready) noexcept {
  const TaskId id = task.id();
  Known& of = known(id);
  first_ = false;
  if (of.task_class == 0) [[unlikely]] {
    of.task_class = class_of(task);
    first_ = of.spawned != Event::kUnknown;
  }
  begun_ = at;
  running_ = id;
  const std::uint16_t task_class = of.task_class;
  const std::int64_t was_ready = since(std::exchange(of.ready, Event::kUnknown), at);
  add(classes_[task_class].ready, kSliceBuckets, was_ready);
  fill(made, EventKind::run, id, task_class, at, was_ready, 0, ready);
}

// How many tasks are ready is for the caller, and so is `running_`.
[[gnu::always_inline]] inline void Recorder::end_slice(Event& made, const TaskRecord& task,
                                                       TaskState how, std::int64_t at,
                                                       std::uint32_t ready) noexcept {
  const TaskId id = task.id();
  Known& of = known(id);
  if (how == TaskState::suspended || how == TaskState::preempted) of.ready = at;
  const std::uint16_t task_class = of.task_class;
  auto detail = static_cast<unsigned>(how);
  std::int64_t ran = Event::kUnknown;
  if (running_ == id) [[likely]] {
    ran = at - begun_;
    if (first_) detail |= Event::kFirst;
    add(classes_[task_class].run, kSliceBuckets, ran);
  }
  fill(made, EventKind::stop, id, task_class, at, ran, detail, ready);
}

void Recorder::slice_begins(const TaskRecord& task) noexcept {
  if (ready_ > 0) --ready_;
  // Between two slices of one turn there is nothing to be measured.
  const std::int64_t at = stopped_ >= 0 && turn_ == scheduler_->now() ? stopped_ : now();
  begin_slice(ring_.next(), task, at, ready_);
}

void Recorder::slice_ends(const TaskRecord& task, TaskState how) noexcept {
  stopped_ = now();
  turn_ = scheduler_->now();
  if (how == TaskState::suspended || how == TaskState::preempted) ++ready_;
  end_slice(ring_.next(), task, how, stopped_, ready_);
  running_ = TaskId();
}

// One task more is ready, and then one less.
void Recorder::slice_switches(const TaskRecord& from, const TaskRecord& to) noexcept {
  const std::int64_t at = now();
  const EventRing::Two made = ring_.next_two();
  end_slice(made.first, from, TaskState::suspended, at, ready_ + 1);
  begin_slice(made.second, to, at, ready_);
}

void Recorder::parked(const TaskRecord& task, const SystemCall&, const CallName& name,
                      WaitKind kind) noexcept {
  Known& of = known(task.id());
  of.parked = now();
  Event& made = event(EventKind::park, task.id(), of, of.parked);
  made.call = &name;
  made.detail = static_cast<std::uint8_t>(kind);
}

void Recorder::woken(const TaskRecord& task, WaitKind kind, bool cancelled) noexcept {
  Known& of = known(task.id());
  of.ready = now();
  ++ready_;
  Event& made = event(EventKind::wake, task.id(), of, of.ready);
  made.duration = since(std::exchange(of.parked, Event::kUnknown), of.ready);
  made.detail =
      static_cast<std::uint8_t>(static_cast<unsigned>(kind) | (cancelled ? Event::kCancelled : 0u));
}

void Recorder::throttled(const TaskRecord& task) noexcept {
  event(EventKind::throttle, task.id(), known(task.id()), now());
}

void Recorder::cancel_asked(const TaskRecord& task) noexcept {
  event(EventKind::cancel, task.id(), known(task.id()), now());
}

void Recorder::ended(const TaskRecord& task, TaskState how) noexcept {
  Known& of = known(task.id());
  const std::int64_t at = now();
  // It never ran, and is not in the queue any more (or counts as if it were not).
  if (of.ready != Event::kUnknown && ready_ > 0) --ready_;
  Event& made = event(EventKind::end, task.id(), of, at);
  made.duration = since(of.spawned, at);
  made.detail = static_cast<std::uint8_t>(how);
  add(classes_[of.task_class].completion, kCompletionBuckets, made.duration);
}

void Recorder::denied(SpawnDenied::Limit limit) noexcept {
  Event& made = event(EventKind::deny, TaskId(), Known(), now());
  made.detail = static_cast<std::uint8_t>(limit);
}

// ---- Metrics ----

Metrics::Collector Recorder::collect(Metrics& metrics) const {
  return metrics.collect([this](Sample& out) {
    write_times(out, "task_run_latency_seconds", "How long a task had the processor, per slice.",
                buckets::run_and_wait(), classes_, &ClassTimes::run);
    write_times(out, "task_wait_time_seconds",
                "How long a task was ready before it had the processor, per slice.",
                buckets::run_and_wait(), classes_, &ClassTimes::ready);
    write_times(out, "task_completion_latency_seconds", "From the spawn of a task to its end.",
                buckets::completion(), classes_, &ClassTimes::completion);
    out.counter("tiffany_events_total", "Events that were written into the event ring.",
                ring_.count());
  });
}

}  // namespace tiffany::observe

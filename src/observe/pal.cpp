#include "tiffany/observe/pal.hpp"

#include <algorithm>
#include <charconv>
#include <list>

#include "base/utf8.hpp"
#include "tiffany/base/assert.hpp"
#include "tiffany/base/calendar.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany::observe {

namespace {

constexpr std::size_t kLongestMessage = 512;

std::int64_t scheduler_ns() noexcept {
  const Scheduler* scheduler = Scheduler::current();
  return scheduler == nullptr ? 0 : scheduler->now().time_since_epoch().count();
}
// In a world without a wall clock: the time of the scheduler, from 1970 on.
std::int64_t wall_us() noexcept {
  const auto wall = World::current().wall_clock_us();
  return wall ? *wall : scheduler_ns() / 1000;
}

std::string_view cut(std::string_view text) noexcept {
  return tiffany::detail::utf8_prefix(text, kLongestMessage);
}

}  // namespace

std::string_view name_of(PalKind kind) noexcept {
  return kind == PalKind::agent ? "agent" : kind == PalKind::sched ? "sched" : "runtime";
}

bool PalFilter::takes(const PalEvent& event) const noexcept {
  if (task && *task != event.task) return false;
  return event.kind == PalKind::agent ? agent : event.kind == PalKind::sched ? sched : runtime;
}

// One who reads: what waits for it, and how much was dropped since it was last told.
struct Pal::Reader {
  explicit Reader(PalFilter which) : filter(std::move(which)) {}

  PalFilter filter;
  Pal* hub = nullptr;     // null: gone
  std::list<Told> queue;  // of most readers it is empty, and takes no memory then
  std::shared_ptr<const std::string> snapshot;  // to be read first
  std::string snapshot_id;
  std::uint64_t missed = 0;  // since the last frame
  std::uint64_t dropped = 0;
  ManualResetEvent something;
};

Pal::Pal(PalOptions options)
    : options_(std::move(options)), epoch_(static_cast<std::uint64_t>(wall_us())) {
  options_.queue = std::max<std::size_t>(options_.queue, 1);
}

Pal::~Pal() { dismiss(); }

void Pal::dismiss() noexcept {
  for (const auto& reader : readers_) {
    reader->hub = nullptr;
    reader->something.set();
  }
  readers_.clear();
}

bool Pal::wanted(PalKind kind) const noexcept {
  if (kind != PalKind::sched && options_.keep > 0) return true;
  return std::any_of(readers_.begin(), readers_.end(), [kind](const auto& reader) {
    return kind == PalKind::agent   ? reader->filter.agent
           : kind == PalKind::sched ? reader->filter.sched
                                    : reader->filter.runtime;
  });
}

// Counts the event, whoever reads. The numbers of a channel go on, so that a reader that comes
// later sees that it missed some.
bool Pal::begin(const PalEvent& event) {
  ++counted_.events[static_cast<std::size_t>(event.kind)];
  ++last_;
  seq_ = ++channels_[event.task][static_cast<std::size_t>(event.kind)];
  return wanted(event.kind);
}

bool Pal::is_last(const PalEvent& event) const noexcept {
  if (event.kind == PalKind::agent) return event.stage == stage::kCompleted;
  if (event.kind != PalKind::sched || event.task.nil()) return false;
  const bool over = event.stage == stage::kDone || event.stage == stage::kPanic ||
                    event.stage == stage::kCancelled;
  const auto found = channels_.find(event.task);
  return over && found != channels_.end() &&
         found->second[static_cast<std::size_t>(PalKind::agent)] == 0;
}

void Pal::begin_data(const PalEvent& event, JsonWriter& writer) {
  draft_.clear();
  const std::int64_t now = scheduler_ns();
  const std::int64_t at = event.at < 0 ? now : event.at;
  writer.begin_object();
  writer.member("ts", utc_text(wall_us() - (now - at) / 1000));
  writer.member("task_id", event.task.text());
  writer.member("stage", event.stage);
  writer.member("message", cut(event.message));
  writer.member("seq", seq_);
  writer.member("kind", name_of(event.kind));
  if (event.tid) writer.member("tid", event.tid.slot());
  if (event.parent) writer.member("parent_tid", event.parent.slot());
  writer.member("vt", at);
  if (event.site.line() != 0) writer.member("loc", site_text(event.site));
  if (event.ghost) writer.member("ghost", true);
  writer.key("data");
  writer.begin_object();
}

void Pal::finish(const PalEvent& event) {
  draft_ += "}}";
  const Told told{last_, seq_, event.task, event.kind, std::make_shared<const std::string>(draft_)};
  for (const auto& reader : readers_) {
    if (!reader->filter.takes(event)) continue;
    if (reader->queue.size() >= options_.queue) {
      reader->queue.pop_front();
      ++reader->missed;
      ++reader->dropped;
      ++counted_.dropped;
    }
    reader->queue.push_back(told);
    reader->something.set();
    TIFFANY_ASSERT(reader->queue.size() <= options_.queue,
                   "the queue of a reader is beyond its bound");
  }
  if (event.kind != PalKind::sched && options_.keep > 0) {
    if (kept_.size() >= options_.keep) kept_.pop_front();
    kept_.push_back(told);
  }
}

std::string Pal::id_of(std::uint64_t number) const {
  return std::to_string(epoch_) + "-" + std::to_string(number);
}

std::shared_ptr<const std::string> Pal::snapshot(const PalFilter& filter) const {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.member("type", "snapshot");
  writer.member("ts", utc_text(wall_us()));
  writer.member("id", id_of(last_));
  if (options_.snapshot) options_.snapshot(writer, filter);
  writer.end_object();
  return std::make_shared<const std::string>(std::move(text));
}

PalSubscription Pal::subscribe(PalFilter filter, std::string_view after) {
  auto reader = std::make_shared<Reader>(std::move(filter));
  reader->hub = this;
  const std::string prefix = std::to_string(epoch_) + "-";
  std::uint64_t seen = 0;
  bool known = after.starts_with(prefix);
  if (known) {
    after.remove_prefix(prefix.size());
    const auto read = std::from_chars(after.data(), after.data() + after.size(), seen);
    known = read.ec == std::errc() && read.ptr == after.data() + after.size() && seen <= last_;
  }
  // Everything behind it must be there: nothing came, or what came is kept. Events of the
  // scheduler are not, so one who reads those begins anew.
  known = known && !reader->filter.sched &&
          (seen == last_ || (!kept_.empty() && kept_.front().number <= seen + 1));
  if (known) {
    for (const Told& told : kept_) {
      const PalEvent about(told.task, "", "", told.kind);
      if (told.number > seen && reader->filter.takes(about)) reader->queue.push_back(told);
    }
    while (reader->queue.size() > options_.queue) {
      reader->queue.pop_front();
      ++reader->missed;
      ++reader->dropped;
      ++counted_.dropped;
    }
  } else {
    reader->snapshot = snapshot(reader->filter);
    reader->snapshot_id = id_of(last_);
  }
  if (reader->snapshot != nullptr || !reader->queue.empty()) reader->something.set();
  readers_.push_back(reader);
  return PalSubscription(std::move(reader));
}

PalCounts Pal::counts() const noexcept {
  PalCounts all = counted_;
  all.subscribers = readers_.size();
  all.channels = channels_.size();
  return all;
}

// ---- Subscriptions ----

PalSubscription& PalSubscription::operator=(PalSubscription&& other) noexcept {
  std::swap(reader_, other.reader_);
  return *this;
}

PalSubscription::~PalSubscription() {
  if (reader_ == nullptr || reader_->hub == nullptr) return;
  std::erase(reader_->hub->readers_, reader_);
  reader_->hub = nullptr;
  reader_->something.set();  // a next() that waits gives nothing
}

std::uint64_t PalSubscription::dropped() const noexcept { return reader_->dropped; }

std::optional<PalFrame> PalSubscription::try_next() { return take(*reader_); }

std::optional<PalFrame> PalSubscription::take(Pal::Reader& reader) {
  PalFrame frame;
  if (reader.snapshot != nullptr) {
    frame.type = PalFrame::Type::snapshot;
    frame.id = std::move(reader.snapshot_id);
    frame.text = std::move(reader.snapshot);
    reader.snapshot = nullptr;
  } else if (reader.missed > 0) {
    std::string text;
    JsonWriter writer(text);
    writer.begin_object();
    writer.member("type", "lagged");
    writer.member("dropped", std::exchange(reader.missed, 0));
    writer.member("next_seq", reader.queue.front().seq);
    writer.end_object();
    frame.type = PalFrame::Type::lagged;
    frame.text = std::make_shared<const std::string>(std::move(text));
  } else if (!reader.queue.empty()) {
    const Pal::Told& told = reader.queue.front();
    if (reader.hub != nullptr) frame.id = reader.hub->id_of(told.number);
    frame.text = told.text;
    reader.queue.pop_front();
  } else {
    return std::nullopt;
  }
  if (reader.queue.empty() && reader.missed == 0 && reader.hub != nullptr) reader.something.reset();
  return frame;
}

// Of the reader and not of the subscription, which may be moved while this waits.
Task<std::optional<PalFrame>> PalSubscription::wait(std::shared_ptr<Pal::Reader> reader) {
  for (;;) {
    std::optional<PalFrame> frame = take(*reader);
    if (frame || reader->hub == nullptr) co_return frame;
    co_await reader->something.wait();
  }
}

}  // namespace tiffany::observe

#include "observe/stuck_view.hpp"

#include <algorithm>
#include <cstring>
#include <typeinfo>

#include "tiffany/base/time_text.hpp"
#include "tiffany/core/await_stack.hpp"
#include "tiffany/core/site.hpp"
#include "tiffany/core/system_call.hpp"

namespace tiffany::observe {

void ShortText::assign(std::string_view text) noexcept {
  size_ = std::min(text.size(), text_.size());
  if (size_ > 0) std::memcpy(text_.data(), text.data(), size_);
}

class StuckTask::Sites final : public FrameVisitor {
 public:
  explicit Sites(StuckTask& task) : task_(task) {}
  void on_frame(const std::source_location& site) override {
    if (task_.frames_ < kSites) task_.sites_[task_.frames_] = site;
    ++task_.frames_;
  }

 private:
  StuckTask& task_;
};

void StuckTask::take(const TaskRecord& task) noexcept {
  id = task.id();
  state = task.state();
  priority = task.priority();
  name_.assign(task.name());
  spawned_ = task.spawn_site();
  frames_ = 0;
  Sites sites(*this);
  task.visit_frames(sites);
  call = nullptr;
  const SystemCall* const waits = state == TaskState::blocked ? task.waiting_on() : nullptr;
  if (waits == nullptr) return;
  since = waits->since();
  for (const CallKind* kind = CallKind::first(); kind != nullptr; kind = kind->next()) {
    if (kind->type() != typeid(*waits)) continue;
    call = kind->name().name.data();
    call_size = kind->name().name.size();
    return;
  }
}

std::string StuckTask::subject() const {
  std::string out = "task " + id.text();
  if (!name_.view().empty()) out += " \"" + std::string(name_.view()) + "\"";
  return out + ", spawned at " + site_text(spawned_);
}

void StuckTask::append_sites(std::string& out) const {
  append_stack(out, std::span(sites_.data(), std::min(frames_, kSites)));
  if (frames_ > kSites) out += "\n      ... and " + std::to_string(frames_ - kSites) + " more";
}

void StuckSlice::take(const Scheduler& scheduler, bool with_task) noexcept {
  number = scheduler.slices();
  const TaskRecord* const running = scheduler.running();
  runs = running != nullptr;
  if (runs && with_task) task.take(*running);
}

bool StuckView::take(const Scheduler& scheduler) noexcept {
  now_ = scheduler.now();
  counters_ = scheduler.counters();
  live_ = scheduler.live_tasks();
  ready_ = scheduler.ready_len();
  timers_ = scheduler.armed_timers();
  externals_ = scheduler.pending_externals();
  count_ = 0;
  return scheduler.for_each_whole_task([this](const TaskRecord& task) {
    if (count_ < tasks_.size()) tasks_[count_].take(task);
    ++count_;
  });
}

std::string counters_text(const Counters& counters) {
  const auto with = [](std::uint64_t count, const char* what) {
    return std::to_string(count) + " " + what;
  };
  std::string out = "  " + with(counters.admitted, "spawned, ") +
                    with(counters.completed, "completed, ") + with(counters.failed, "failed, ") +
                    with(counters.cancelled, "cancelled, ") + with(counters.runs, "slices, ") +
                    with(counters.yields, "yields, ") + with(counters.throttled, "throttles, ") +
                    with(counters.denied, "denied\n");
  out += "  waiting now:";
  for (std::size_t kind = 0; kind < kWaitKinds; ++kind) {
    out += std::string(kind == 0 ? " " : ", ") + name_of(static_cast<WaitKind>(kind)) + " " +
           std::to_string(counters.waiting[kind]);
  }
  return out + "\n";
}

std::string StuckView::text() const {
  std::string out = "Scheduler at " + time_text(now_) +
                    ", in the middle of a slice: " + std::to_string(live_) + " tasks, " +
                    std::to_string(ready_) + " ready, " + std::to_string(timers_) + " timers, " +
                    std::to_string(externals_) + " external promises\n" + counters_text(counters_);
  for (std::size_t i = 0; i < std::min(count_, tasks_.size()); ++i) {
    const StuckTask& task = tasks_[i];
    out += task.subject() + ": " + name_of(task.state);
    if (task.call != nullptr) {
      out += " in " + std::string(task.call, task.call_size) + " for " +
             duration_text(now_ - task.since);
    }
    task.append_sites(out);
    out += "\n";
  }
  if (count_ > tasks_.size()) {
    out += "... and " + std::to_string(count_ - tasks_.size()) + " tasks more\n";
  }
  return out;
}

}  // namespace tiffany::observe

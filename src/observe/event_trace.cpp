#include "tiffany/observe/event_trace.hpp"

#include <map>
#include <optional>
#include <string_view>

#include "tiffany/base/json.hpp"

namespace tiffany::observe {

namespace {

class TraceText {
 public:
  explicit TraceText(const std::vector<ClassTimes>& classes) : classes_(classes) {}

  void add(const Event& event) {
    last_ = event.at;
    if (event.task_class != 0) rows_[event.task.slot()] = event.task_class;
    switch (event.kind) {
      case EventKind::run:
        on_run(event);
        break;
      case EventKind::stop:
        on_stop(event);
        break;
      case EventKind::park:
        on_park(event);
        break;
      case EventKind::wake:
        end_wait(event.task, event.at);
        if (event.by) wakes_[event.task] = {event.by.slot(), event.at};
        break;
      case EventKind::end:
        on_end(event);
        break;
      default:
        break;
    }
  }

  std::string finish() && {
    while (!waits_.empty()) end_wait(waits_.begin()->first, last_);
    for (const auto& [row, task_class] : rows_) {
      begin("thread_name", "M", row);
      writer_->key("args");
      writer_->begin_object();
      writer_->member("name", std::string(name_of(task_class)) + " #" + std::to_string(row));
      writer_->end_object();
      writer_->end_object();
    }
    return std::move(text_);
  }

 private:
  struct Wait {
    std::string_view name;
    std::string_view kind;
  };
  struct Wake {
    std::uint32_t by;
    std::int64_t at;
  };

  std::string_view name_of(std::uint16_t task_class) const {
    return task_class < classes_.size() ? std::string_view(classes_[task_class].name) : "unknown";
  }

  // An element without its end.
  void begin(std::string_view name, std::string_view phase, std::uint32_t row) {
    if (!text_.empty()) text_ += ",\n";
    writer_.emplace(text_);
    writer_->begin_object();
    writer_->member("name", name);
    writer_->member("ph", phase);
    writer_->member("pid", 1);
    writer_->member("tid", row);
  }
  void begin_at(std::string_view name, std::string_view phase, std::uint32_t row, std::int64_t at) {
    begin(name, phase, row);
    writer_->member("ts", static_cast<double>(at) / 1000);  // microseconds
  }

  void on_run(const Event& event) {
    const auto woken = wakes_.find(event.task);
    if (woken != wakes_.end()) {
      ++flows_;
      begin_at("wake", "s", woken->second.by, woken->second.at);
      writer_->member("cat", "wake");
      writer_->member("id", flows_);
      writer_->end_object();
      begin_at("wake", "f", event.task.slot(), event.at);
      writer_->member("cat", "wake");
      writer_->member("id", flows_);
      writer_->member("bp", "e");
      writer_->end_object();
      wakes_.erase(woken);
    }
    if (event.ready == ready_) return;
    ready_ = event.ready;
    begin_at("ready", "C", 0, event.at);
    writer_->key("args");
    writer_->begin_object();
    writer_->member("tasks", event.ready);
    writer_->end_object();
    writer_->end_object();
  }

  void on_stop(const Event& event) {
    if (event.duration == Event::kUnknown) return;
    begin_at(name_of(event.task_class), "X", event.task.slot(), event.at - event.duration);
    writer_->member("cat", "slice");
    writer_->member("dur", static_cast<double>(event.duration) / 1000);
    writer_->end_object();
  }

  void on_park(const Event& event) {
    end_wait(event.task, event.at);  // of which the ring has lost the end
    const Wait wait{event.call != nullptr ? event.call->name : "wait",
                    tiffany::name_of(event.wait())};
    waits_[event.task] = wait;
    write_wait(wait, "b", event.task, event.at);
  }

  void end_wait(TaskId task, std::int64_t at) {
    const auto found = waits_.find(task);
    if (found == waits_.end()) return;
    write_wait(found->second, "e", task, at);
    waits_.erase(found);
  }

  void write_wait(const Wait& wait, std::string_view phase, TaskId task, std::int64_t at) {
    begin_at(wait.name, phase, task.slot(), at);
    writer_->member("cat", wait.kind);
    writer_->member("id", task.value());
    writer_->end_object();
  }

  void on_end(const Event& event) {
    end_wait(event.task, event.at);
    wakes_.erase(event.task);
    if (event.state() != TaskState::failed) return;
    begin_at("failed", "i", event.task.slot(), event.at);
    writer_->member("s", "t");
    writer_->end_object();
  }

  const std::vector<ClassTimes>& classes_;
  std::string text_;
  std::optional<JsonWriter> writer_;             // of the element that is being written
  std::map<TaskId, Wait> waits_;                 // that go on
  std::map<TaskId, Wake> wakes_;                 // of tasks that have not run since
  std::map<std::uint32_t, std::uint16_t> rows_;  // the class that was seen last in a slot
  std::uint64_t flows_ = 0;
  std::uint32_t ready_ = UINT32_MAX;  // as it was written last
  std::int64_t last_ = 0;
};

}  // namespace

std::string trace_events(std::span<const Event> events, const std::vector<ClassTimes>& classes) {
  TraceText text(classes);
  for (const Event& each : events) text.add(each);
  return std::move(text).finish();
}

std::string trace_file(const Recorder& recorder) {
  EventReader reader(recorder.ring());
  TraceText text(recorder.classes());
  Event event;
  while (reader.read({&event, 1}) == 1) text.add(event);
  return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n" + std::move(text).finish() + "\n]}\n";
}

}  // namespace tiffany::observe

#include "tiffany/core/task_log.hpp"

namespace tiffany {

// From the last to the first. Where a link stands for what another task told, that comes first, and
// what was told before it is kept for later.
void LogLink::copy(const LogLink* last, std::string* end) {
  std::vector<const LogLink*> later;
  for (const LogLink* link = last;;) {
    if (link == nullptr) {
      if (later.empty()) return;
      link = later.back();
      later.pop_back();
    } else if (link->inner_ != nullptr) {
      later.push_back(link->before_);
      link = link->inner_;
    } else {
      *--end = link->text_;
      link = link->before_;
    }
  }
}

void LogLink::release() noexcept {
  if (--refs_ > 0) return;
  next_dead_ = nullptr;
  for (LogLink* dead = this; dead != nullptr;) {
    LogLink* rest = dead->next_dead_;
    for (LogLink* behind : {dead->before_, dead->inner_}) {
      if (behind == nullptr || --behind->refs_ > 0) continue;
      behind->next_dead_ = rest;
      rest = behind;
    }
    unmake(dead);
    dead = rest;
  }
}

TaskLog& TaskLog::writable(Arena& arena, Ref<TaskLog>& log, TaskId owner) {
  if (!log || log->owner_ != owner) {
    log = Ref<TaskLog>::adopt(make_in<TaskLog>(arena, owner, log));
  } else if (log->refs_ > 1) {
    auto copy = Ref<TaskLog>::adopt(make_in<TaskLog>(arena, owner, Ref<TaskLog>(log->inherited_)));
    copy->last_ = log->last_;
    log = std::move(copy);
  }
  return *log;
}

std::vector<std::string> TaskLog::entries() const {
  std::vector<std::string> out(size());
  for (const TaskLog* log = this; log != nullptr; log = log->inherited_) {
    LogLink::copy(log->last_.get(), out.data() + log->size());
  }
  return out;
}

void TaskLog::release() noexcept {
  for (TaskLog* log = this; log != nullptr && --log->refs_ == 0;) {
    TaskLog* inherited = log->inherited_;
    unmake(log);
    log = inherited;
  }
}

}  // namespace tiffany

#include "durable/alarms.hpp"

#include <memory>
#include <utility>

#include "durable/host_core.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/system_call.hpp"
#include "tiffany/core/timer.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany {

// Until the first alarm is due, or another one is the first.
class Alarms::Wait final : public SystemCall, private Timer {
 public:
  static constexpr CallName call_name{"durable_alarm"};
  explicit Wait(Alarms& of) noexcept : Timer(&Wait::on_alarm), alarms_(of) {}
  Answer start(Scheduler& scheduler, TaskRecord& task) {
    task_ = &task;
    alarms_.wait_ = this;
    arm(scheduler);
    return Answer::parked;
  }
  void withdraw(TaskRecord& task) noexcept override {
    alarms_.wait_ = nullptr;
    Scheduler::owner(task)->disarm(*this);
  }
  void finish() noexcept {}
  // Another alarm is the first, or none is left.
  void look(Scheduler& scheduler) {
    scheduler.disarm(*this);
    arm(scheduler);
  }
  bool waits_for_outside() const noexcept override { return true; }
  std::string describe() const override { return "the next alarm of a host"; }

 private:
  void arm(Scheduler& scheduler) {
    if (!alarms_.all_.empty()) {
      const std::int64_t due = alarms_.all_.begin()->first.first;
      scheduler.arm(*this, alarms_.host_.store->clock().scheduler_time(due));
    } else if (!alarms_.needed()) {
      scheduler.arm(*this, scheduler.now());
    }
  }
  static void on_alarm(Scheduler& scheduler, Timer& timer) noexcept {
    Wait& wait = static_cast<Wait&>(timer);
    wait.alarms_.wait_ = nullptr;
    wait.wake(scheduler, *wait.task_);
  }

  Alarms& alarms_;
  TaskRecord* task_ = nullptr;
};

void Alarms::set_timeout(HostedTask& entry) {
  if (entry.marks == nullptr || entry.marks->until == 0 || entry.marks->alarm != 0) return;
  entry.marks->alarm = ++last_;
  all_.emplace(Key(entry.marks->until, last_), Alarm{entry.log.id, Alarm::Kind::timeout});
  changed();
}

void Alarms::clear(HostedTask& entry) noexcept {
  if (entry.marks != nullptr) remove(entry.marks->until, entry.marks->alarm);
}

void Alarms::set_wake(HostedTask& entry) {
  if (entry.rest->due != 0) {
    entry.rest->alarm = ++last_;
    all_.emplace(Key(entry.rest->due, last_), Alarm{entry.log.id, Alarm::Kind::wake});
  }
  changed();
}
// Those that are later stay: they look once more, which does no harm.
void Alarms::set_turn(std::int64_t due) {
  if (turn_ != 0 && turn_ <= due) return;
  turn_ = due;
  all_.emplace(Key(due, ++last_), Alarm{Uuid(), Alarm::Kind::turn});
  changed();
}
void Alarms::clear_wake(HostedTask& entry) noexcept { remove(entry.rest->due, entry.rest->alarm); }

void Alarms::remove(std::int64_t due, std::uint64_t& alarm) noexcept {
  if (alarm != 0) all_.erase(Key(due, std::exchange(alarm, 0)));
  if (wait_ != nullptr) wait_->look(*host_.scheduler);
}

bool Alarms::needed() const noexcept { return !all_.empty() || host_.eviction.asleep() > 0; }

void Alarms::changed() {
  if (wait_ != nullptr) return wait_->look(*host_.scheduler);
  if (running_ || stopped_ || host_.closing) return;
  running_ = true;
  std::shared_ptr<Alarms> kept(host_.shared_from_this(), this);
  runner_ = host_.scheduler->spawn(&Alarms::run, std::move(kept)).named("durable alarms");
}

void Alarms::stop() noexcept {
  stopped_ = true;
  if (running_) runner_.cancel("the host goes");
}

struct Alarms::Over {
  Alarms& alarms;
  ~Over() {
    alarms.running_ = false;
    alarms.runner_ = Handle<void>();
  }
};

Task<void> Alarms::run() {
  const Over over{*this};
  while (needed()) {
    co_await Wait(*this);
    while (!all_.empty() && all_.begin()->first.first <= host_.store->clock().now()) {
      // No more tasks are woken at a time than are replayed when a log is opened.
      if (all_.begin()->second.kind == Alarm::Kind::wake && !host_.runs.has_room()) {
        co_await host_.runs.until_room();
      } else {
        ring();
      }
    }
  }
}

void Alarms::ring() {
  const auto [id, kind] = all_.begin()->second;
  const std::int64_t until = all_.begin()->first.first;
  all_.erase(all_.begin());
  if (kind == Alarm::Kind::turn) {
    if (until == turn_) turn_ = 0;
    return host_.admission.look();
  }
  HostedTask* const entry = host_.tasks.find(id);
  if (entry == nullptr || entry->log.ended) return;
  if (kind == Alarm::Kind::wake) {
    entry->rest->alarm = 0;
    entry->changing == 0 ? host_.eviction.begin_again(*entry) : host_.eviction.wake_soon(*entry);
    return;
  }
  entry->marks->alarm = kOver;
  std::shared_ptr<Alarms> kept(host_.shared_from_this(), this);
  host_.scheduler
      ->spawn(&Alarms::cancel, std::move(kept), id,
              "its time, which was given at its start, was over at " + wal::text_of_time(until))
      .named("timeout of a durable task");
}

// Crash case: the cancel is a record like that of Host::cancel. Until the record is on the disk,
// the alarm is set again by the next process, whose clock is behind that time.
Task<void> Alarms::cancel(Uuid task, std::string why) {
  std::string failed;
  try {
    co_await host_.messages.cancel(task, std::move(why));
  } catch (const Error& error) {
    failed = error.what();
  }
  if (!failed.empty() && host_.is_open() && !host_.store->sealed()) {
    host_.scheduler->log("The time of durable task " + task.text() +
                         " is over, and the task could not be cancelled: " + failed);
  }
}

}  // namespace tiffany

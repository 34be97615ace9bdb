#include "tiffany/test/test_scheduler.hpp"

#include <algorithm>

#include "tiffany/base/error.hpp"

namespace tiffany::test {

struct TestScheduler::Event : Timer {
  Event(TestScheduler& t, std::function<void()> f)
      : Timer(&Event::fire), test(t), what(std::move(f)) {}

  static void fire(Scheduler&, Timer& timer) noexcept {
    auto& event = static_cast<Event&>(timer);
    try {
      event.what();
    } catch (...) {
      if (event.test.event_error_ == nullptr) {
        event.test.event_error_ = std::current_exception();
      } else {
        event.test.scheduler_.reports().lost(
            "An event of a TestScheduler threw after another one had, so that this error cannot be "
            "thrown",
            std::current_exception());
      }
    }
  }

  TestScheduler& test;
  std::function<void()> what;
};

Options TestScheduler::options_for(TestOptions& options, TestScheduler& self) {
  auto order = std::make_unique<DeviationOrder>(std::move(options.schedule_), options.max_picks_);
  self.order_ = order.get();
  Options result = Options().virtual_time().order(std::move(order));
  if (options.quantum_) result = std::move(result).quantum(*options.quantum_);
  return std::move(result).log_to([&self](const LogLine& line) {
    self.log_.emplace_back(line.message);
    if (line.unseen_error != nullptr) self.unseen_errors_.push_back(line.unseen_error);
  });
}

TestScheduler::TestScheduler(TestOptions options)
    : scheduler_(options_for(options, *this)), spawn(&scheduler_.root()) {}

TestScheduler::~TestScheduler() {
  for (const auto& event : events_) scheduler_.disarm(*event);
}

void TestScheduler::throw_what_an_event_threw() {
  std::erase_if(events_, [](const auto& event) { return !event->armed(); });
  if (event_error_ != nullptr) std::rethrow_exception(std::exchange(event_error_, nullptr));
}

const TestScheduler::Event* TestScheduler::next_event() const noexcept {
  const auto first =
      std::min_element(events_.begin(), events_.end(),
                       [](const auto& a, const auto& b) { return a->deadline() < b->deadline(); });
  return first == events_.end() ? nullptr : first->get();
}

bool TestScheduler::step() {
  const bool ran = scheduler_.step();
  throw_what_an_event_threw();
  return ran;
}

std::size_t TestScheduler::step_until_idle() {
  const std::size_t ran = scheduler_.step_until_idle();
  throw_what_an_event_threw();
  return ran;
}

// A scheduler without tasks has nothing to wait for, and would pass over the event.
void TestScheduler::to_event(const Event& event) {
  scheduler_.run_until(event.deadline());
  step_until_idle();
}

void TestScheduler::advance(Duration delay) {
  if (delay < Duration::zero()) {
    throw Error(Errc::bad_argument, "advance() was asked to move time by " +
                                        std::to_string(delay.count()) +
                                        " ns. Time cannot go back.");
  }
  const Time target = tiffany::detail::saturating_add(scheduler_.now(), delay);
  for (const Event* event = next_event(); event != nullptr && event->deadline() <= target;
       event = next_event()) {
    to_event(*event);
  }
  scheduler_.run_until(target);
  step_until_idle();
}

void TestScheduler::run() {
  scheduler_.run();
  throw_what_an_event_threw();
  while (const Event* event = next_event()) {
    to_event(*event);
    scheduler_.run();
    throw_what_an_event_threw();
  }
}

std::optional<TaskState> TestScheduler::task_state(TaskId id) const {
  const TaskRecord* task = scheduler_.find(id);
  return task == nullptr ? std::nullopt : std::optional<TaskState>(task->state());
}

std::string TestScheduler::leftovers() const {
  std::string out;
  const auto add = [&out](std::size_t count, const char* what) {
    if (count > 0) out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + what;
  };
  add(scheduler_.live_tasks(), "tasks");
  add(scheduler_.armed_timers(), "timers");
  add(scheduler_.arena().live_blocks(), "blocks of memory");
  return out;
}

void TestScheduler::at(Duration delay, std::function<void()> event) {
  events_.push_back(std::make_unique<Event>(*this, std::move(event)));
  scheduler_.arm(*events_.back(), tiffany::detail::saturating_add(scheduler_.now(), delay));
}

}  // namespace tiffany::test

#include "tiffany/observe/watchdog.hpp"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <optional>
#include <utility>

#include "observe/stuck_view.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/inbox.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/detail/core/pulse.hpp"
#include "tiffany/detail/world/thread_probe.hpp"
#include "tiffany/detail/world/tick_thread.hpp"
#include "tiffany/observe/log.hpp"

namespace tiffany::observe {

namespace {

constexpr Duration kShortestLimit = std::chrono::milliseconds(4);
constexpr int kMostTries = 20;                               // to see all tasks
constexpr Duration kLongestPause = std::chrono::minutes(1);  // between two reports of one slice

void warn_in_log(const std::string& text) {
  static const log::Logger logger("tiffany::watchdog");
  logger.warn(text);
}

void write_to_stderr(const std::string& text) { std::fputs(text.c_str(), stderr); }

// A dump that the loop makes itself, between two turns. The watchdog may have given up by then.
struct AskedDump {
  std::string text{};
  std::atomic<bool> done{false};
};

class AskForDump final : public Message {
 public:
  explicit AskForDump(std::shared_ptr<AskedDump> answer) : answer_(std::move(answer)) {}
  void deliver(Scheduler& scheduler) noexcept override {
    if (answer_.use_count() == 1) return;  // nobody waits any more
    try {
      if (scheduler.live_tasks() <= StuckView::kMost) {
        answer_->text = scheduler.dump_text() + counters_text(scheduler.counters());
      } else {
        StuckView view;
        static_cast<void>(view.take(scheduler));  // between two turns nothing is being changed
        answer_->text = view.text();
      }
    } catch (const std::bad_alloc&) {
      answer_->text.clear();
    }
    answer_->done.store(true);
  }

 private:
  std::shared_ptr<AskedDump> answer_;
};

}  // namespace

struct Watchdog::Shared final : public tiffany::detail::Pulse {
  Shared(Scheduler& of, WatchdogOptions with)
      : scheduler(&of), inbox(of.inbox()), options(std::move(with)) {}

  // ---- The thread of the scheduler ----

  void driven() noexcept override { probe.enter(); }
  void left() noexcept override { probe.leave(); }
  void scheduler_gone() noexcept override { scheduler = nullptr; }

  // ---- The thread of the watchdog ----

  // Runs in the signal handler.
  struct Request {
    const Shared* shared;
    StuckSlice* slice;
    StuckView* view;
    bool whole;
    bool taken = false;
    bool viewed = false;

    static void take(void* context) noexcept {
      auto& self = *static_cast<Request*>(context);
      const Scheduler* const scheduler = self.shared->scheduler;
      if (scheduler == nullptr || Scheduler::current() != scheduler) return;
      self.slice->take(*scheduler, self.whole);
      if (self.view != nullptr) self.viewed = self.view->take(*scheduler);
      self.taken = true;
    }
  };

  bool interrupt(bool whole, StuckView* into) noexcept {
    const Duration patience = std::min<Duration>(options.limit_, std::chrono::milliseconds(100));
    // A task that makes tasks without end is seldom met where the table of them grows.
    for (int tries = 0; tries < kMostTries; ++tries) {
      Request request{this, &slice, into, whole};
      if (!probe.interrupt(&Request::take, &request, patience) || !request.taken) return false;
      if (into == nullptr || request.viewed) break;
    }
    return true;
  }

  // The debug information of the program is read once, which may take longer than a limit: so that
  // is done before something is stuck.
  void prepare() {
    if (std::exchange(prepared, true)) return;
    void* const any[] = {reinterpret_cast<void*>(&warn_in_log)};
    static_cast<void>(tiffany::detail::native_stack_text(any));
  }

  void look(Duration now) {
    const std::uint64_t turn = turns();
    if (turn % 2 == 0 || turn != seen_turn) {
      seen_turn = turn;
      suspect = false;
      return;
    }
    const bool due = suspect && now >= next_report;
    const bool answered = interrupt(due, nullptr);
    if (answered && !slice.runs) {  // between two slices
      suspect = false;
      return;
    }
    const std::uint64_t number = answered ? slice.number : 0;
    if (!suspect || number != seen_slice) {
      suspect = true;
      seen_slice = number;
      begun = now;
      pause = options.limit_;
      next_report = now + pause;
    } else if (due) {
      report(now - begun, answered);
      pause = std::min(2 * pause, kLongestPause);
      next_report = now + pause;
    }
  }

  void report(Duration so_far, bool answered) {
    std::string text = answered ? slice.task.subject() : "A task of the scheduler";
    text += ", has had the processor for more than " + duration_text(so_far) +
            " and does not give way: no other task of its scheduler runs meanwhile. Add co_await "
            "checkpoint() to its loop, or offload the work.";
    append_stacks(text, answered);
    give(options.report_, text, reports);
  }

  void append_stacks(std::string& text, bool answered) {
    if (!answered) {
      text += "\n  Its thread does not answer a signal, and nothing is known of its stack.";
      return;
    }
    if (slice.runs) {
      text += "\n  Its last co_await, and those of its callers:";
      slice.task.append_sites(text);
    }
    text += "\n  Its thread is" + tiffany::detail::native_stack_text(probe.stack());
  }

  std::optional<std::string> ask_loop() {
    auto answer = std::make_shared<AskedDump>();
    if (!inbox->post(std::make_unique<AskForDump>(answer))) return "The scheduler is gone.\n";
    constexpr Duration kStep = std::chrono::milliseconds(1);
    for (Duration waited{}; waited < options.limit_; waited += kStep) {
      if (answer->done.load()) return std::move(answer->text);
      os_world().pause(kStep);
    }
    return std::nullopt;
  }

  void dump() {
    std::optional<std::string> text = ask_loop();
    if (!text) {
      StuckView view;
      if (interrupt(true, &view)) {
        text = view.text();
        append_stacks(*text, true);
        *text += "\n";
      } else {
        text =
            "The loop of the scheduler does not answer: no thread drives it, or that thread "
            "blocks signals.\n";
      }
    }
    give(options.dump_, *text, dumps);
  }

  void give(const std::function<void(const std::string&)>& sink, const std::string& text,
            std::atomic<std::uint64_t>& count) noexcept {
    try {
      sink(text);
    } catch (...) {  // counted: there is nobody to tell
      failed_sinks.fetch_add(1);
    }
    count.fetch_add(1);
  }

  Scheduler* scheduler;  // read and written on its thread
  const std::shared_ptr<Inbox> inbox;
  WatchdogOptions options;
  tiffany::detail::ThreadProbe probe{};
  StuckSlice slice{};
  std::uint64_t seen_turn = 0;
  bool prepared = false;
  bool suspect = false;          // the turn stands still
  std::uint64_t seen_slice = 0;  // 0: not known which
  Duration begun{};              // when that slice was first seen
  Duration pause{};
  Duration next_report{};
  std::atomic<std::uint64_t> reports{0};
  std::atomic<std::uint64_t> dumps{0};
  std::atomic<std::uint64_t> failed_sinks{0};
  std::unique_ptr<tiffany::detail::TickThread> thread{};
};

Watchdog::Watchdog(Scheduler& scheduler, WatchdogOptions options) {
  if (scheduler.pulse() != nullptr) {
    throw Error(Errc::bad_argument,
                "A watchdog was made for a scheduler that has one already. One is enough: it "
                "watches every task.");
  }
  if (options.limit_ < kShortestLimit) {
    throw Error(Errc::bad_argument, "The limit of a watchdog is " + duration_text(options.limit_) +
                                        "; it must be at least " + duration_text(kShortestLimit) +
                                        ", because a thread cannot look more often.");
  }
  constexpr int kLastSignal = 64;
  if (options.signal_ < 0 || options.signal_ > kLastSignal) {
    throw Error(Errc::bad_argument, "A watchdog was to make dumps on signal " +
                                        std::to_string(options.signal_) +
                                        "; signals have numbers from 1 to " +
                                        std::to_string(kLastSignal) + ", and 0 is none.");
  }
  if (options.signal_ != 0 && tiffany::detail::has_own_handler(options.signal_)) {
    throw Error(Errc::bad_argument, "A watchdog was to make dumps on signal " +
                                        std::to_string(options.signal_) +
                                        ", for which the program has a handler. Choose another "
                                        "signal, or remove the handler.");
  }
  if (!options.report_) options.report_ = warn_in_log;
  if (!options.dump_) options.dump_ = write_to_stderr;
  shared_ = std::make_unique<Shared>(scheduler, std::move(options));
  Shared& shared = *shared_;
  if (!shared.options.by_hand_) {
    shared.thread = std::make_unique<tiffany::detail::TickThread>(
        shared.options.limit_ / 4,
        [&shared] {
          shared.prepare();
          shared.look(tiffany::detail::monotonic_now());
        },
        shared.options.signal_, [&shared] { shared.dump(); });
  }
  scheduler.set_pulse(&shared);
}

Watchdog::~Watchdog() {
  shared_->thread.reset();
  if (shared_->scheduler != nullptr) shared_->scheduler->set_pulse(nullptr);
}

std::uint64_t Watchdog::reports() const noexcept { return shared_->reports.load(); }
std::uint64_t Watchdog::dumps() const noexcept { return shared_->dumps.load(); }
std::uint64_t Watchdog::failed_sinks() const noexcept { return shared_->failed_sinks.load(); }

void Watchdog::look(Duration now) { shared_->look(now); }
void Watchdog::dump() { shared_->dump(); }

}  // namespace tiffany::observe

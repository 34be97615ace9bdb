// The steps of one durable task: how one is asked for, begun, tried again, and ended. The code
// waits for one at most in the frame that has its code; others were begun behind it.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "durable/failure.hpp"
#include "durable/rare.hpp"
#include "durable/slot.hpp"

namespace tiffany {

class Steps {
 public:
  using StepSlot = detail::StepSlot;
  explicit Steps(FlowState& flow) noexcept : flow_(flow) {}

  detail::Slot* issue(std::string_view name, const StepOptions& options, detail::StepCode& code,
                      const std::source_location& site);
  detail::Slot* issue_kept(std::string_view name, std::unique_ptr<detail::KeptStep> code,
                           const detail::ValueType& type, const std::source_location& site);
  // One that the log does not have.
  void begin(StepSlot& step);
  // One that the log has, without a result.
  void resume(StepSlot& step);

  enum class AfterCrash : std::uint8_t {
    run,      // it may run again
    unknown,  // at most once: nobody knows whether it had its effect
    give_up,  // the process did not survive it as often as it may be begun
  };
  static AfterCrash after_crash(const StepSlot& step) noexcept;

  // At most one record of a heartbeat is not synced: what is said meanwhile goes into the next.
  void record_heartbeat(StepSlot& step);
  void heard_from(StepSlot& step) const noexcept;

  // Cancels the step that the code waits for in its own frame. True: there is none, or not any
  // more.
  bool stop(std::string_view why) noexcept;
  // The frame that waits for the step goes, or the task of a step that was begun behind it, though
  // the step is under way: only when a scheduler is destroyed whose tasks do not stop. The step
  // refers to both, and goes first.
  void drop_by_force(StepSlot& step) noexcept;
  void drop_behind_by_force() noexcept;
  // Steps that were begun behind the code are under way.
  bool any_behind() const noexcept { return behind_ != nullptr && !behind_->steps.empty(); }
  // Cancels them, and returns when none works any more. The code is gone.
  Task<void> end_behind();
  // The code of a step runs in the task itself.
  bool runs_here() const noexcept { return runs_here_; }
  void loaded() noexcept { back_ = true; }
  void recorded_end() noexcept { back_ = false; }

 private:
  struct Ended;
  class Join;
  detail::Slot* ask(std::string_view name, const StepOptions& options, detail::StepCode& code,
                    std::unique_ptr<detail::KeptStep> kept, const detail::ValueType* type,
                    const std::source_location& site);
  void begin_behind(StepSlot& step);
  void runner_ended(StepSlot& step) noexcept;
  void run_here(StepSlot& step);
  void record_start(StepSlot& step, const std::source_location* site, wal::Level level,
                    wal::Ticket* ticket = nullptr);
  static detail::FailedAttempt failed_attempt_of(const StepSlot& step,
                                                 const std::exception_ptr& error);
  bool try_again(StepSlot& step, detail::FailedAttempt failed);
  std::uint64_t key_hash(const StepSlot& step) const;
  Duration time_left(const StepSlot& step) const noexcept;
  void plan_next_attempt(StepSlot& step, Duration pause);
  void begin_runner(StepSlot& step);
  Task<void> run(StepSlot* step);
  Task<void> make_attempts(StepSlot* step);
  Task<detail::FailedAttempt> try_once(StepSlot* step, Attempt* attempt, std::string* result);
  Task<void> run_code(StepSlot* step, Attempt* attempt, std::string* result, bool* late);
  Task<void> until_silent(StepSlot* step);
  static bool found_done(const StepSlot& step, const Attempt& attempt, std::string& result);
  std::int64_t wall_after(Duration delay) const noexcept;

  FlowState& flow_;
  StepSlot* busy_ = nullptr;  // the step of the frame that waits, which a task works for
  struct Behind {
    std::vector<StepSlot*> steps;  // begun behind the code, and tasks work for them
    Join* join = nullptr;          // waits for the last of them
  };
  std::unique_ptr<Behind> behind_;  // null: there was none
  bool back_ = false;               // the log was loaded, and no step has ended since
  bool runs_here_ = false;
};

}  // namespace tiffany

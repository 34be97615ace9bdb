// The steps of one durable task: how one is asked for, begun, tried again, and ended. At most one
// is under way, because the code waits for it.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "durable/slot.hpp"

namespace tiffany {

class Steps {
 public:
  using StepSlot = detail::StepSlot;
  explicit Steps(FlowState& flow) noexcept : flow_(flow) {}

  detail::Slot* issue(std::string_view name, const StepOptions& options, detail::StepCode& code,
                      const std::source_location& site);
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

  // Cancels the step that is under way. True: there is none, or not any more.
  bool stop(std::string_view why) noexcept;
  // The code of a step runs in the task itself.
  bool runs_here() const noexcept { return runs_here_; }
  void loaded() noexcept { back_ = true; }
  void recorded_end() noexcept { back_ = false; }

 private:
  struct Ended;
  void run_here(StepSlot& step);
  void record_start(StepSlot& step, const std::source_location* site, wal::Level level,
                    wal::Ticket* ticket = nullptr);
  void plan_next_attempt(StepSlot& step);
  void begin_runner(StepSlot& step);
  Task<void> run(StepSlot* step);
  Task<void> make_attempts(StepSlot* step);
  Task<std::string> try_once(StepSlot* step, Attempt* attempt, std::string* result, bool* late);
  Task<void> run_code(StepSlot* step, Attempt* attempt, std::string* result, bool* late);
  Task<void> until_silent(StepSlot* step);
  static bool found_done(const StepSlot& step, const Attempt& attempt, std::string& result);
  std::int64_t wall_after(Duration delay) const noexcept;

  FlowState& flow_;
  StepSlot* busy_ = nullptr;  // the step that a task works for
  bool back_ = false;         // the log was loaded, and no step has ended since
  bool runs_here_ = false;
};

}  // namespace tiffany

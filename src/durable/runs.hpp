// How the code of tasks runs here: from its beginning or along its log, to its end, or until it is
// stopped.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "durable/hosted_task.hpp"

namespace tiffany {

class Runs {
 public:
  explicit Runs(HostCore& host) noexcept : host_(host) {}

  // ---- Beginning ----
  // A task that has no history.
  void begin(HostedTask& entry, std::string arguments, std::int64_t time);
  // A task with a log. Throws Errc::log_damaged when that cannot be read.
  void begin_again(HostedTask& entry);

  // ---- Replay: a bounded number of tasks at a time ----
  // That task does not count any more: it has come to the end of its log, or is gone.
  void replayed(FlowState& flow) noexcept;
  bool has_room() const noexcept;
  Task<void> until_room();
  Task<void> until_all_replayed();

  // ---- Ends ----
  // The end of the task is on the disk.
  void ended(HostedTask& entry, DurableStatus status, std::string detail);
  // The code does not do what its log says: the task stops where it is.
  void diverged(FlowState& flow, const std::string& text);
  // What its log names cannot be read: nothing of the task runs until somebody repairs the log.
  void quarantine(HostedTask& entry, std::string why);
  // The same without a word in the log of the program.
  void set_quarantined(HostedTask& entry, std::string why);
  // The log takes no more: the task stops where it is.
  void broken(FlowState& flow, const std::exception_ptr& error) noexcept;
  // Returns when its code is gone, without a word in its log.
  Task<void> stop(HostedTask& task);
  // Whoever waits for its end is told that it does not come here.
  void leave(HostedTask& task);

 private:
  class AwaitCode;
  struct Gone;
  struct RunKept;
  void drop_code(HostedTask& entry) noexcept;
  void start(HostedTask& entry);
  static Task<void> run(HostedTask* entry);
  // What comes after the code, in a frame of its own.
  Task<void> finish(HostedTask* entry);
  std::optional<detail::DurableCode> code_of(HostedTask& entry);
  Task<void> record_end(FlowState* flow, HostedTask* entry, DurableStatus status,
                        std::string result);

  HostCore& host_;
  std::size_t tasks_ = 0;  // that are being replayed
  std::size_t bytes_ = 0;  // of their logs
  ManualResetEvent room_{true};
};

}  // namespace tiffany

#include "plan/command_step.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <limits>
#include <memory>
#include <source_location>
#include <string_view>
#include <utility>

#include "base/utf8.hpp"
#include "durable/flow_state.hpp"
#include "tiffany/core/sleep.hpp"

namespace tiffany::plan {
namespace {

constexpr std::size_t kMostOutputs = 256 * 1024;

// NAME=value in each line. A name that was not declared, or is missing, is a problem of the step.
void read_outputs(std::string_view text, const std::vector<std::string>& names, CommandDone& done) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    const std::string name(line.substr(0, equals));
    if (line.empty()) continue;
    if (!detail::is_utf8(line)) {
      done.problem = "The command wrote a line to $TIFFANY_OUTPUT that is not UTF-8.";
      return;
    }
    if (equals == std::string_view::npos ||
        std::find(names.begin(), names.end(), name) == names.end()) {
      done.problem = "The command wrote the line \"" + std::string(line.substr(0, 100)) +
                     "\" to $TIFFANY_OUTPUT, which is not NAME=value with a name in \"outputs\" of "
                     "its step.";
      return;
    }
    done.outputs[name] = line.substr(equals + 1);
  }
  for (const std::string& name : names) {
    if (done.outputs.count(name) != 0) continue;
    done.problem = "The command did not write the output \"" + name + "\": echo \"" + name +
                   "=...\" >> \"$TIFFANY_OUTPUT\"";
    return;
  }
}

// Processes, descriptors or room on the disk that are missing may be there in a while.
constexpr int kMostTries = 6;
Duration pause_after(int tries) { return std::chrono::milliseconds(100) * (1 << tries); }

// Empty: it was asked to end.
Task<std::string> stop_problem(exec::CommandRunner* commands, Uuid id) {
  std::string problem;
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (tries > 0) co_await sleep(pause_after(tries));
    problem.clear();
    try {
      co_await commands->stop(id);
    } catch (const Error& error) {
      problem = error.what();
    }
    if (problem.empty()) break;
  }
  co_return problem;
}

// Throws for a command that has not begun. What has begun and cannot be attached to is stopped:
// nobody takes its end any more.
Task<exec::CommandResult> run_command_of(PlanServices* services, const CommandOrder* order) {
  exec::CommandResult result;
  std::string problem;
  for (int tries = 0; tries < kMostTries; ++tries) {
    if (tries > 0) co_await sleep(pause_after(tries));
    problem.clear();
    try {
      result = co_await services->commands.run(order->id, order->spec);
    } catch (const Error& error) {
      if (has_not_begun(error.code())) throw;
      problem = error.what();  // it has begun: run() with the same id attaches to it
    }
    if (problem.empty()) co_return result;
  }
  result.end = exec::CommandEnd::unknown;
  result.why = problem;
  const std::string stop = co_await stop_problem(&services->commands, order->id);
  if (!stop.empty()) result.why += " It could not be stopped, either: " + stop;
  co_return result;
}

// The locks are held from before the command begins until its end is known. All of it may be done
// again after a crash: what the command has stays with it, and so does its end.
Task<exec::CommandResult> run_locked(PlanServices* services, Uuid task, const CommandOrder* order) {
  LockHolder holder;
  holder.task = task;
  holder.unit = order->unit;
  holder.command = order->id;
  // Without them, because the wait was withdrawn: the command was stopped, and does not begin.
  static_cast<void>(co_await services->locks.acquire(order->locks, std::move(holder)));
  exec::CommandResult result;
  std::exception_ptr refused;
  try {
    result = co_await run_command_of(services, order);
  } catch (const Error&) {
    refused = std::current_exception();  // it has not begun
  }
  co_await services->locks.release(order->locks, order->id);
  if (refused != nullptr) std::rethrow_exception(refused);
  co_return result;
}

// Ends of before the task was taken back to an earlier step. The last first, so that the others
// are still found after a crash.
Task<void> forget_older(exec::CommandRunner* commands, Uuid task, const CommandOrder* order) {
  int last = order->attempt;
  while (commands->end_of(command_id(task, order->unit, last))) ++last;
  while (last-- > order->attempt) {
    co_await commands->forget_older(command_id(task, order->unit, last), order->spec.round);
  }
}

Task<CommandDone> attempt(PlanServices* services, Uuid task, const CommandOrder* order) {
  CommandDone done;
  if (order->spec.round > 0) co_await forget_older(&services->commands, task, order);
  if (order->locks.empty()) {
    done.result = co_await run_command_of(services, order);
  } else {
    done.result = co_await run_locked(services, task, order);
  }
  if (!done.result.ok() || order->outputs.empty()) co_return done;
  try {
    const std::string text =
        co_await services->commands.read(order->id, exec::CommandFile::outputs, kMostOutputs);
    if (text.size() >= kMostOutputs) {
      done.problem = "The command wrote more than " + std::to_string(kMostOutputs) +
                     " bytes to $TIFFANY_OUTPUT. Hand large things over in files.";
    } else {
      read_outputs(text, order->outputs, done);
    }
  } catch (const Error& error) {
    done.problem = error.what();
  }
  if (done.result.ok() && done.problem.empty()) done.problem = done.result.artifact_problem;
  co_return done;
}

class CommandStep final : public detail::KeptStep {
 public:
  CommandStep(StepOptions how, PlanServices& services, const Uuid& task, CommandOrder order)
      : KeptStep(std::move(how)), services_(services), task_(task), order_(std::move(order)) {}

 private:
  bool suspends() const noexcept override { return true; }
  void call(Attempt& /*attempt*/, std::string& /*result*/) override {}
  Task<void> run(Attempt& attempt, std::string& result) override {
    order_.spec.round = attempt.retry();
    return detail::run_step(plan::attempt(&services_, task_, &order_), &result);
  }
  PlanServices& services_;
  Uuid task_;
  CommandOrder order_;
};

}  // namespace

bool has_not_begun(Errc code) noexcept {
  return code == Errc::command_failed || code == Errc::command_conflict ||
         code == Errc::sandbox_missing || code == Errc::bad_argument || code == Errc::call_refused;
}

Task<void> stop_commands(exec::CommandRunner* commands, std::vector<Uuid> ids) {
  std::string problem;
  for (const Uuid& id : ids) {
    const std::string each = co_await stop_problem(commands, id);
    if (!each.empty()) problem = each;
  }
  if (!problem.empty()) {
    throw Error(Errc::command_failed,
                "The command could not be stopped, and is waited for: " + problem);
  }
}

detail::BeginStepCall<CommandDone> begin_command(Flow& flow, PlanServices& services,
                                                 CommandOrder order) {
  StepOptions options;
  // Idempotent: a second run of the same id attaches. The process may die as often as it likes.
  options.most_crashes = std::numeric_limits<int>::max();
  options.about = detail::arguments_json(order.id.text());
  const std::string unit = order.unit;
  return {detail::FlowAccess::of(flow), unit,
          std::make_unique<CommandStep>(std::move(options), services, flow.id(), std::move(order)),
          std::source_location::current()};
}

}  // namespace tiffany::plan

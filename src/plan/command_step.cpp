#include "plan/command_step.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <source_location>
#include <string_view>
#include <utility>

#include "base/utf8.hpp"
#include "durable/flow_state.hpp"

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

Task<CommandDone> attempt(exec::CommandRunner* commands, Uuid id, exec::CommandSpec spec,
                          std::vector<std::string> outputs) {
  CommandDone done;
  done.result = co_await commands->run(id, std::move(spec));
  if (done.result.ok() && !outputs.empty()) {
    const std::string text = co_await commands->read(id, exec::CommandFile::outputs, kMostOutputs);
    if (text.size() >= kMostOutputs) {
      done.problem = "The command wrote more than " + std::to_string(kMostOutputs) +
                     " bytes to $TIFFANY_OUTPUT. Hand large things over in files.";
    } else {
      read_outputs(text, outputs, done);
    }
  }
  co_return done;
}

class CommandStep final : public detail::KeptStep {
 public:
  CommandStep(StepOptions how, exec::CommandRunner& commands, const Uuid& id,
              exec::CommandSpec spec, std::vector<std::string> outputs)
      : KeptStep(std::move(how)),
        commands_(commands),
        id_(id),
        spec_(std::move(spec)),
        outputs_(std::move(outputs)) {}

 private:
  bool suspends() const noexcept override { return true; }
  void call(Attempt& /*attempt*/, std::string& /*result*/) override {}
  Task<void> run(Attempt& /*attempt*/, std::string& result) override {
    return detail::run_step(plan::attempt(&commands_, id_, spec_, outputs_), &result);
  }
  exec::CommandRunner& commands_;
  Uuid id_;
  exec::CommandSpec spec_;
  std::vector<std::string> outputs_;
};

}  // namespace

detail::BeginStepCall<CommandDone> begin_command(Flow& flow, exec::CommandRunner& commands,
                                                 const std::string& unit, const Uuid& id,
                                                 exec::CommandSpec spec,
                                                 std::vector<std::string> outputs) {
  StepOptions options;
  // Idempotent: a second run of the same id attaches. The process may die as often as it likes.
  options.most_crashes = std::numeric_limits<int>::max();
  options.about = detail::arguments_json(id.text());
  return {detail::FlowAccess::of(flow), unit,
          std::make_unique<CommandStep>(std::move(options), commands, id, std::move(spec),
                                        std::move(outputs)),
          std::source_location::current()};
}

}  // namespace tiffany::plan

#include "tiffany/agent/run_tool.hpp"

#include <algorithm>
#include <utility>

#include "agent/command_call.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kMostRunBytes = std::size_t{128} << 10;  // of all words

constexpr const char* kRunAbout =
    "Runs a program on the files as they are now, without a network, and takes back what it "
    "changed. argv is the program and its words, each given as it is: no shell reads them, so "
    "there are no pipes, no redirections, no patterns and no variables.";
constexpr const char* kRunSchema =
    R"({"type":"object","properties":{"argv":{"type":"array","items":{"type":"string"},)"
    R"("minItems":1,"maxItems":256,"description":"as [\"make\", \"test\"]"}},)"
    R"("required":["argv"],"additionalProperties":false})";

struct RunArguments {
  std::vector<std::string> argv{};
};
TIFFANY_JSON(RunArguments, argv);

Manifest run_manifest(RunOptions options) {
  Manifest manifest;
  manifest.name = "run";
  manifest.about = kRunAbout;
  manifest.argv = {"run"};  // the words of a call come in its place
  manifest.input = kRunSchema;
  manifest.effect = options.effect;
  manifest.reads = std::move(options.reads);
  manifest.writes = {"."};
  manifest.limits = options.limits;
  manifest.ask = options.ask;
  manifest.sandbox = options.sandbox;
  return manifest;
}

class RunTool final : public ProgramTool {
 public:
  using ProgramTool::ProgramTool;
  std::string mistake_in(std::string_view arguments) const override {
    if (std::string mistake = mistakes_in_call(offer(), arguments); !mistake.empty()) {
      return mistake;
    }
    const auto words = from_json<RunArguments>(arguments).argv;
    if (words.front().empty()) return "The arguments of run do not fit: the program has no name.";
    std::size_t bytes = 0;
    for (const std::string& each : words) {
      bytes += each.size() + 1;
      if (each.find('\0') == std::string::npos) continue;
      return "The arguments of run do not fit: a word has a zero byte, which no word can have.";
    }
    if (bytes <= kMostRunBytes) return "";
    return "The arguments of run do not fit: all words together have more than 128 KiB.";
  }
  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    std::vector<std::string> words = from_json<RunArguments>(arguments).argv;
    co_return co_await run_words(std::move(where), std::move(words));
  }
};

}  // namespace

void add_run_tool(ToolSet& tools, Workshop& workshop, RunOptions options) {
  if (options.sandbox < 2) {
    throw Error(Errc::bad_tool,
                "The tool \"run\" runs what a model chose: its sandbox is of level 2 or 3.");
  }
  if (options.effect != ToolEffect::at_most_once && options.effect != ToolEffect::idempotent) {
    throw Error(Errc::bad_tool, "The effect of the tool \"run\" is at_most_once or idempotent.");
  }
  Manifest manifest = run_manifest(std::move(options));
  check_manifest(manifest);
  tools.add(std::make_shared<RunTool>(std::move(manifest), workshop));
}

}  // namespace tiffany::agent

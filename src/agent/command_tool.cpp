#include "tiffany/agent/command_tool.hpp"

#include <algorithm>
#include <utility>

#include "agent/command_call.hpp"
#include "tiffany/agent/schema.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

class CommandTool final : public ProgramTool {
 public:
  using ProgramTool::ProgramTool;
  std::string mistake_in(std::string_view arguments) const override {
    try {
      static_cast<void>(words_for(manifest(), arguments));
    } catch (const Error& error) {
      if (error.code() != Errc::bad_tool) throw;
      return error.what();
    }
    return "";
  }
  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    std::vector<std::string> words = words_for(manifest(), arguments);
    co_return co_await run_words(std::move(where), std::move(words));
  }
};

}  // namespace

void add_command_tool(ToolSet& tools, Manifest manifest, Workshop& workshop) {
  check_manifest(manifest);
  for (const std::string& name : manifest.secrets) {
    const bool known = std::any_of(workshop.secrets.begin(), workshop.secrets.end(),
                                   [&](const exec::Secret& each) { return each.name == name; });
    if (known) continue;
    throw Error(Errc::bad_tool, "The tool \"" + manifest.name + "\" needs the secret \"" + name +
                                    "\", which nobody has named a source for.");
  }
  tools.add(std::make_shared<CommandTool>(std::move(manifest), workshop));
}

}  // namespace tiffany::agent

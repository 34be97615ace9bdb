#include "tiffany/agent/command_tool.hpp"

#include <algorithm>
#include <utility>

#include "agent/command_call.hpp"
#include "tiffany/agent/schema.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

class CommandTool final : public Tool {
 public:
  CommandTool(Manifest manifest, Workshop& workshop)
      : call_(std::move(manifest), workshop),
        offer_(offer_of(call_.manifest())),
        traits_(traits_of(call_.manifest())) {
    traits_.effect = StepEffect::idempotent;  // a call that is made again attaches to its command
  }
  const ToolOffer& offer() const noexcept override { return offer_; }
  const ToolTraits& traits() const noexcept override { return traits_; }
  std::string mistake_in(std::string_view arguments) const override {
    try {
      static_cast<void>(words_for(call_.manifest(), arguments));
    } catch (const Error& error) {
      if (error.code() != Errc::bad_tool) throw;
      return error.what();
    }
    return "";
  }
  Task<void> stop(ToolContext where) override { co_await call_.stop(std::move(where)); }
  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    std::vector<std::string> words = words_for(call_.manifest(), arguments);
    CommandCalled called = co_await call_.run(std::move(where), std::move(words));
    co_return answer_of_command(std::move(called));
  }

 private:
  CommandCall call_;
  ToolOffer offer_;
  ToolTraits traits_;
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

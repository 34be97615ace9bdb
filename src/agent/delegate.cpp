#include "tiffany/agent/delegate.hpp"

#include <memory>
#include <string>

#include "tiffany/agent/schema.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent {
namespace {

// What it does is done by the agent itself, in the durable task: a child cannot be spawned inside
// of a step.
class DelegateTool final : public Tool {
 public:
  DelegateTool() {
    offer_.name = kDelegate;
    offer_.about =
        "Gives a part of the work to another agent and waits for what it says at the end. It sees "
        "your files, changes them in place, and knows nothing of this conversation: write down all "
        "that it needs. It uses your budget.";
    offer_.schema =
        R"({"type":"object","properties":{)"
        R"("instruction":{"type":"string","minLength":1,"maxLength":32768},)"
        R"("turns":{"type":"integer","minimum":1},"tokens":{"type":"integer","minimum":1}},)"
        R"("required":["instruction"],"additionalProperties":false})";
    traits_.pin = sha256_hex(to_json(offer_));
  }
  const ToolOffer& offer() const noexcept override { return offer_; }
  const ToolTraits& traits() const noexcept override { return traits_; }
  std::string mistake_in(std::string_view arguments) const override {
    return mistakes_in_call(offer_, arguments);
  }
  Task<ToolAnswer> run(ToolContext, std::string) override {
    throw Error(Errc::bad_tool, "The tool delegate is run by an agent, and not by itself.");
  }

 private:
  ToolOffer offer_;
  ToolTraits traits_;
};

}  // namespace

void add_delegate_tool(ToolSet& tools) { tools.add(std::make_shared<DelegateTool>()); }

}  // namespace tiffany::agent

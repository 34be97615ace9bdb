// A daemon whose tools have the names that the conformance suite of MCP asks for. For
// ./dev soak mcp: what the suite sees of the protocol is ours, and its tasks are durable ones.
#include <chrono>
#include <stdexcept>
#include <string>

#include "tiffany/app/app.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;

Durable<std::string> greet(Flow& flow, std::string name) {
  co_return co_await flow.step("greet", [&] { return "Hello, " + name + "!"; });
}

Durable<std::string> slow_compute(Flow& flow, int seconds, std::string label) {
  if (seconds > 0) co_await flow.sleep(std::chrono::seconds(seconds));
  co_return "computed " + label;
}

Durable<std::string> failing_job(Flow& flow) {
  co_return co_await flow.step(
      "fail", []() -> std::string { throw std::runtime_error("This job fails."); });
}

Durable<std::string> confirm_delete(Flow& flow, std::string filename) {
  auto confirmed = co_await flow.promise<bool>("confirm");
  const bool yes = co_await confirmed;
  co_return filename + (yes ? " was deleted" : " was kept");
}

Durable<std::string> multi_input(Flow& flow) {
  auto first = co_await flow.promise<bool>("first");
  auto second = co_await flow.promise<bool>("second");
  const bool one = co_await first;
  const bool two = co_await second;
  co_return std::string(one && two ? "both" : "not both");
}

Durable<std::string> says(Flow& flow) {
  co_return co_await flow.step("say", [] { return std::string("This is a simple text."); });
}

// Long enough to be looked at between its steps.
Durable<std::string> test_tool_with_progress(Flow& flow) {
  constexpr int kSteps = 3;
  for (int i = 0; i < kSteps; ++i) co_await flow.sleep(std::chrono::milliseconds(300));
  co_return std::string("done");
}

Durable<std::string> test_error_handling(Flow& flow) {
  co_return co_await flow.step("fail", []() -> std::string {
    throw std::runtime_error("This tool intentionally returns an error for testing");
  });
}

int main(int count, char** words) {
  App app("mcp-fixture", "1.0.0");
  app.durable("greet", 1, greet, {"name"});
  app.durable("slow_compute", 1, slow_compute, {"seconds", "label"});
  app.durable("failing_job", 1, failing_job);
  app.durable("confirm_delete", 1, confirm_delete, {"filename"});
  app.durable("multi_input", 1, multi_input);
  // Of the last two the suite wants to see that nothing but an answer comes.
  for (const char* const name :
       {"test_simple_text", "test_logging_tool", "test_streaming_elicitation"}) {
    app.durable(name, 1, says);
    app.tool(name, "Says something", App::ToolGives::result);
  }
  app.durable("test_error_handling", 1, test_error_handling);
  app.tool("greet", "Greets", App::ToolGives::result);
  app.tool("slow_compute", "Takes so many seconds");
  app.tool("failing_job", "Fails", App::ToolGives::handle);
  app.tool("confirm_delete", "Asks before it does something");
  app.tool("multi_input", "Asks two questions at a time");
  app.durable("test_tool_with_progress", 1, test_tool_with_progress);
  app.tool("test_tool_with_progress", "Takes a second", App::ToolGives::result);
  app.tool("test_error_handling", "Fails", App::ToolGives::result);
  return app.main(count, words);
}

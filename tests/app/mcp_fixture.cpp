// A daemon whose tools have the names that the conformance suite of MCP asks for. For
// ./dev soak mcp: what the suite sees of the protocol is ours, and its tasks are durable ones.
#include <chrono>
#include <stdexcept>
#include <string>

#include "tiffany/app/app.hpp"
#include "tiffany/base/base64.hpp"
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

// A picture of one point, and no sound.
const std::string kPng = from_base64(
                             "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+"
                             "M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
                             .value_or("");
const std::string kWav(
    "RIFF$\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0@\x1f\0\0@\x1f\0\0\1\0\b\0data\0\0\0\0", 44);

Durable<Contents> shows(Flow& flow, Contents what) {
  co_return co_await flow.step("show", [&] { return what; });
}
Durable<Contents> shows_image(Flow& flow) { return shows(flow, Content::image(kPng, "image/png")); }
Durable<Contents> shows_audio(Flow& flow) { return shows(flow, Content::audio(kWav, "audio/wav")); }
Durable<Contents> shows_resource(Flow& flow) {
  return shows(flow,
               Content::resource("test://embedded-resource", "This is an embedded resource."));
}
Durable<Contents> shows_several(Flow& flow) {
  return shows(flow, {"Several contents:", Content::image(kPng, "image/png"),
                      Content::resource("test://mixed-content-resource", R"({"value":123})",
                                        "application/json")});
}

// A mistake of the program, and no failure that a model could do something about.
Durable<std::string> protocol_error_job(Flow& flow) {
  co_return co_await flow.step(
      "err", []() -> std::string { throw std::logic_error("This program is wrong."); });
}

Durable<std::string> schema_tool(Flow& flow, std::string name) {
  co_return co_await flow.step("greet", [&] { return "Hello, " + name + "!"; });
}

Durable<std::string> test_headers(Flow& flow, std::string region) {
  co_return co_await flow.step("say", [&] { return "in " + region; });
}

void add_contents(App& app) {
  app.durable("test_image_content", 1, shows_image);
  app.durable("test_audio_content", 1, shows_audio);
  app.durable("test_embedded_resource", 1, shows_resource);
  app.durable("test_multiple_content_types", 1, shows_several);
  for (const char* const name : {"test_image_content", "test_audio_content",
                                 "test_embedded_resource", "test_multiple_content_types"}) {
    app.tool(name, "Shows something", App::ToolGives::result);
  }
}

void add_prompts(App& app) {
  app.prompt("test_simple_prompt", "A text",
             [](const App::Texts&) { return "This is a simple prompt for testing."; });
  app.prompt("test_prompt_with_arguments", "A text with two words in it",
             {{"arg1", "the first", {"testing", "paris"}}, {"arg2", "the second"}},
             [](const App::Texts& given) {
               return "Prompt with arguments: arg1='" + given.at("arg1") + "', arg2='" +
                      given.at("arg2") + "'";
             });
  app.prompt("test_prompt_with_embedded_resource", "A resource", {{"resourceUri", "which"}},
             [](const App::Texts& given) -> Contents {
               return {Content::resource(given.at("resourceUri"), "Embedded resource content."),
                       "Please process the embedded resource above."};
             });
  app.prompt("test_prompt_with_image", "A picture", [](const App::Texts&) -> Contents {
    return {Content::image(kPng, "image/png"), "Please analyze the image above."};
  });
}

void add_resources(App& app) {
  app.resource("test://static-text", "A text", [](const App::Texts&) {
    return "This is the content of the static text resource.";
  });
  app.resource("test://static-binary", "A picture",
               [](const App::Texts&) { return Content::image(kPng, "image/png"); });
  app.resource("test://watched-resource", "Something that does not change",
               [](const App::Texts&) { return "It is as it was."; });
  app.resource("test://template/{id}/data", "Data by a number", [](const App::Texts& in) {
    return Content(R"({"id":")" + in.at("id") + R"(","templateTest":true})", "application/json");
  });
}

void add_schemas(App& app) {
  app.durable("json_schema_2020_12_tool", 1, schema_tool, {"name"});
  app.tool("json_schema_2020_12_tool", "Has a schema of its own", App::ToolGives::result);
  app.tool_schema("json_schema_2020_12_tool", R"({
    "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {
      "street": {"type": "string"}, "city": {"type": "string"}}}},
    "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
      "contactMethod": {"type": "string", "enum": ["phone", "email"]},
      "phone": {"type": "string"}, "email": {"type": "string"}},
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]}, "else": {"required": ["email"]},
    "additionalProperties": false})");
  app.durable("test_headers", 1, test_headers, {"region"});
  app.tool("test_headers", "Has an argument in a header", App::ToolGives::result);
  app.tool_schema("test_headers", R"({"type": "object", "properties": {
    "region": {"type": "string", "x-mcp-header": "Region"}}, "required": ["region"]})");
}

int main(int count, char** words) {
  App app("mcp-fixture", "1.0.0");
  app.durable("greet", 1, greet, {"name"});
  app.durable("slow_compute", 1, slow_compute, {"seconds", "label"});
  app.durable("failing_job", 1, failing_job);
  app.durable("confirm_delete", 1, confirm_delete, {"filename"});
  app.durable("multi_input", 1, multi_input);
  app.durable("protocol_error_job", 1, protocol_error_job);
  add_contents(app);
  add_prompts(app);
  add_resources(app);
  add_schemas(app);
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
  app.tool("protocol_error_job", "Is wrong");
  app.tool("confirm_delete", "Asks before it does something");
  app.tool("multi_input", "Asks two questions at a time");
  app.durable("test_tool_with_progress", 1, test_tool_with_progress);
  app.tool("test_tool_with_progress", "Takes a second", App::ToolGives::result);
  app.tool("test_error_handling", "Fails", App::ToolGives::result);
  return app.main(count, words);
}

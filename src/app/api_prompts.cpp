// The API about what clients of MCP are offered besides tasks: prompts and resources of the
// program, and skills as prompts.
#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "app/api.hpp"
#include "app/mcp_tools.hpp"
#include "app/uri_template.hpp"
#include "tiffany/agent/skill.hpp"
#include "tiffany/base/base64.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

// What the program's own code makes of these texts.
Contents made_by(const App::Making& make, const App::Texts& given) {
  Contents made;
  std::string why;
  try {
    made = make(given);
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (!why.empty()) throw HttpError(422, why);
  if (made.all.empty()) throw HttpError(404, "There is nothing.");
  std::size_t bytes = 0;
  for (const Content& each : made.all) bytes += each.bytes().size();
  if (bytes > kLongestMcpAnswer) {
    throw HttpError(413, "It has " + std::to_string(bytes) + " bytes; clients are shown at most " +
                             std::to_string(kLongestMcpAnswer) + ".");
  }
  return made;
}

App::Texts texts_in(const Body& body) {
  App::Texts texts;
  try {
    auto read = from_json<std::map<std::string, std::string>>(body.raw("arguments", "{}"));
    for (auto& each : read) texts.insert(std::move(each));
  } catch (const Error&) {
    throw HttpError(400, "\"arguments\" is an object whose members are strings.");
  }
  return texts;
}

void require_arguments(const App::Prompt& prompt, const App::Texts& given) {
  for (const App::PromptArgument& each : prompt.arguments) {
    if (each.required && !given.contains(each.name)) {
      throw HttpError(
          400, "The prompt \"" + prompt.name + "\" needs the argument \"" + each.name + "\".");
    }
  }
  for (const auto& each : given) {
    const std::string& name = each.first;
    if (std::ranges::find(prompt.arguments, name, &App::PromptArgument::name) ==
        prompt.arguments.end()) {
      throw HttpError(400, "The prompt \"" + prompt.name + "\" has no argument \"" + name + "\".");
    }
  }
}

std::string prompt_json(const std::string& about, const Contents& contents) {
  return json_text([&](JsonWriter& out) {
    out.begin_object();
    out.member("description", about);
    out.key("messages");
    out.begin_array();
    for (const Content& each : contents.all) {
      out.begin_object();
      out.member("role", "user");
      out.key("content");
      write_json(out, each);
      out.end_object();
    }
    out.end_array();
    out.end_object();
  });
}

std::string resource_json(const std::string& uri, const Contents& contents) {
  return json_text([&](JsonWriter& out) {
    out.begin_object();
    out.key("contents");
    out.begin_array();
    for (const Content& each : contents.all) {
      out.begin_object();
      out.member("uri", each.uri().empty() ? uri : each.uri());
      out.member("mimeType", each.mime());
      if (each.is_text()) {
        out.member("text", each.bytes());
      } else {
        out.member("blob", to_base64(each.bytes()));
      }
      out.end_object();
    }
    out.end_array();
    out.end_object();
  });
}

}  // namespace

namespace calls {

Task<Response> make_prompt(ApiCall& call) {
  const Body body(call.request(), {"arguments"});
  const std::string& name = call.path("name");
  const App::Texts given = texts_in(body);
  const auto& prompts = call.api.parts.app.prompts();
  const auto found = std::ranges::find(prompts, name, &App::Prompt::name);
  if (found != prompts.end()) {
    require_arguments(*found, given);
    co_return json_answer(200, prompt_json(found->about, made_by(found->make, given)));
  }
  const agent::Skill* const skill = call.api.parts.agents.skills().find(name);
  if (skill == nullptr) throw HttpError(404, "There is no prompt \"" + name + "\".");
  if (!given.empty()) throw HttpError(400, "The skill \"" + name + "\" has no arguments.");
  co_return json_answer(200, prompt_json(skill->about, Contents(skill->text)));
}

Task<Response> read_resource(ApiCall& call) {
  const std::optional<std::string> uri = call.query("uri");
  if (!uri) throw HttpError(400, "Say which: ?uri=shop://stock");
  for (const App::Resource& each : call.api.parts.app.resources()) {
    const std::optional<App::Texts> fits = match_uri(each.uri, *uri);
    if (fits) co_return json_answer(200, resource_json(*uri, made_by(each.make, *fits)));
  }
  throw HttpError(404, "There is no resource " + *uri + ".");
}

}  // namespace calls

}  // namespace tiffany::app

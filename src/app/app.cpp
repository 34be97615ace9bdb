#include "tiffany/app/app.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "app/mcp_app_tools.hpp"
#include "app/mcp_tools.hpp"
#include "app/uri_template.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany {

struct App::Parts {
  std::string name;
  std::string version;
  Registry types;
  std::vector<Type> described;
  std::vector<Tool> tools;
  std::vector<Prompt> prompts;
  std::vector<Resource> resources;
  std::vector<Work> work;
  std::shared_ptr<const wal::PayloadCodec> codec;
  std::vector<std::shared_ptr<Interceptor>> interceptors;
};

App::App(std::string name, std::string version) : parts_(std::make_unique<Parts>()) {
  parts_->name = std::move(name);
  parts_->version = version.empty() ? "0.1.0" : std::move(version);
}
App::~App() = default;

Registry& App::types() noexcept { return parts_->types; }
const std::string& App::name() const noexcept { return parts_->name; }
const std::string& App::version() const noexcept { return parts_->version; }
const std::vector<App::Type>& App::described() const noexcept { return parts_->described; }
const std::vector<App::Tool>& App::tools() const noexcept { return parts_->tools; }
const std::vector<App::Prompt>& App::prompts() const noexcept { return parts_->prompts; }
const std::vector<App::Resource>& App::resources() const noexcept { return parts_->resources; }
const std::vector<App::Work>& App::work() const noexcept { return parts_->work; }

App& App::tool(const std::string& type, std::string about, ToolGives gives) {
  const bool known =
      std::ranges::find(parts_->described, type, &Type::name) != parts_->described.end();
  const bool taken = app::mcp_tool(type, true) != nullptr ||
                     std::ranges::find(parts_->tools, type, &Tool::type) != parts_->tools.end();
  if (!known || taken) {
    throw Error(
        Errc::bad_argument,
        "App::tool: " + (known ? "there is a tool \"" + type + "\" already."
                               : "there is no type \"" + type + "\" yet; say App::durable(\"" +
                                     type + "\", ...) before."));
  }
  Tool tool;
  tool.type = type;
  tool.about = std::move(about);
  tool.gives = gives;
  parts_->tools.push_back(std::move(tool));
  return *this;
}

App& App::tool_schema(const std::string& tool, std::string schema) {
  const auto found = std::ranges::find(parts_->tools, tool, &Tool::type);
  std::string wrong;
  if (found == parts_->tools.end()) {
    wrong = "there is no tool \"" + tool + "\" yet; say App::tool(\"" + tool + "\", ...) before.";
  } else {
    try {
      found->headers = app::headers_in_schema(schema);
      found->schema = std::move(schema);
    } catch (const Error& error) {
      wrong = "the schema of \"" + tool + "\" is none: " + error.what();
    }
  }
  if (!wrong.empty()) throw Error(Errc::bad_argument, "App::tool_schema: " + wrong);
  return *this;
}

App& App::prompt(std::string name, std::string about, Making make) {
  return prompt(std::move(name), std::move(about), {}, std::move(make));
}

App& App::prompt(std::string name, std::string about, std::vector<PromptArgument> arguments,
                 Making make) {
  const bool taken =
      std::ranges::find(parts_->prompts, name, &Prompt::name) != parts_->prompts.end();
  if (name.empty() || taken || !make) {
    throw Error(Errc::bad_argument,
                "App::prompt: " + (taken          ? "there is a prompt \"" + name + "\" already."
                                   : name.empty() ? std::string("a prompt has a name.")
                                                  : "\"" + name + "\" has nothing to make it."));
  }
  parts_->prompts.push_back(
      {std::move(name), std::move(about), std::move(arguments), std::move(make)});
  return *this;
}

App& App::resource(std::string uri, std::string about, Making make) {
  std::string wrong = app::wrong_with_uri(uri);
  if (wrong.empty() && uri.starts_with("tiffany://")) wrong = "tiffany:// is for tasks";
  if (wrong.empty() && !make) wrong = "\"" + uri + "\" has nothing to make it";
  const auto known = std::ranges::find(parts_->resources, uri, &Resource::uri);
  if (known != parts_->resources.end()) wrong = "there is a resource \"" + uri + "\" already";
  if (!wrong.empty()) throw Error(Errc::bad_argument, "App::resource: " + wrong + ".");
  parts_->resources.push_back({std::move(uri), std::move(about), std::move(make)});
  return *this;
}

App& App::with(std::string name, std::function<Task<void>(Host&)> task) {
  parts_->work.push_back({std::move(name), std::move(task)});
  return *this;
}

App& App::codec(std::shared_ptr<const wal::PayloadCodec> codec) {
  parts_->codec = std::move(codec);
  return *this;
}
const std::shared_ptr<const wal::PayloadCodec>& App::codec() const noexcept {
  return parts_->codec;
}

App& App::intercept(std::shared_ptr<Interceptor> interceptor) {
  if (interceptor == nullptr) {
    throw Error(Errc::bad_argument, "App::intercept: the interceptor is null.");
  }
  parts_->interceptors.push_back(std::move(interceptor));
  return *this;
}
const std::vector<std::shared_ptr<Interceptor>>& App::interceptors() const noexcept {
  return parts_->interceptors;
}

void App::describe(const std::string& type, std::vector<Argument> arguments,
                   std::vector<std::string> names, std::string result, bool shown) {
  if (!names.empty() && names.size() != arguments.size()) {
    throw Error(Errc::bad_argument, "App::durable: type \"" + type + "\" takes " +
                                        std::to_string(arguments.size()) + " arguments, and " +
                                        std::to_string(names.size()) + " names were given.");
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    arguments[i].name = names.empty() ? "argument" + std::to_string(i + 1) : names[i];
  }
  parts_->described.push_back({type, std::move(arguments), std::move(result), {}, shown});
}

App& App::add_call(const std::string& type, std::string kind, std::string name,
                   std::string schema) {
  const auto found = std::ranges::find(parts_->described, type, &Type::name);
  if (found == parts_->described.end()) {
    throw Error(Errc::bad_argument, "App::" + kind + ": there is no type \"" + type +
                                        "\" yet; say App::durable(\"" + type + "\", ...) before.");
  }
  found->calls.push_back({std::move(kind), std::move(name), std::move(schema)});
  return *this;
}

}  // namespace tiffany

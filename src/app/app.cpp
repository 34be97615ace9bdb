#include "tiffany/app/app.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "app/mcp_tools.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany {

struct App::Parts {
  std::string name;
  std::string version;
  Registry types;
  std::vector<Type> described;
  std::vector<Tool> tools;
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
  parts_->tools.push_back({type, std::move(about), gives});
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
                   std::vector<std::string> names, std::string result) {
  if (!names.empty() && names.size() != arguments.size()) {
    throw Error(Errc::bad_argument, "App::durable: type \"" + type + "\" takes " +
                                        std::to_string(arguments.size()) + " arguments, and " +
                                        std::to_string(names.size()) + " names were given.");
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    arguments[i].name = names.empty() ? "argument" + std::to_string(i + 1) : names[i];
  }
  parts_->described.push_back({type, std::move(arguments), std::move(result), {}});
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

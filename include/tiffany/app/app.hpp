// A program with durable tasks that is also its own daemon and its own command line.
//
//   int main(int count, char** arguments) {
//     tiffany::App app("shop");
//     app.durable("order", 1, order, {"order"});       // Durable<Receipt> order(Flow&, Order)
//     return app.main(count, arguments);
//   }
//
//   $ shop serve --data /var/lib/shop &                 recovers what was unfinished, and listens
//   $ shop start order '{"id":"a7"}'                    and everything else of `shop help`
//
// The names of arguments and the types of values are in `GET /api/v1/types`, so that others know
// how to start a task. docs/22-daemon.md has the whole story.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/app/content.hpp"
#include "tiffany/base/json_schema.hpp"
#include "tiffany/base/type_name.hpp"
#include "tiffany/durable/host.hpp"

namespace tiffany {

class App {
 public:
  // `name` is what the program is called in its own texts.
  explicit App(std::string name, std::string version = "");
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  // A type of durable tasks: see Registry::add. `arguments` are the names of what the function
  // takes behind Flow&; all of them or none. Errc::bad_argument for another number of names.
  template <class R, class... As>
  App& durable(std::string name, int version, Durable<R> (*body)(Flow&, As...),
               std::vector<std::string> arguments = {},
               const TypeOptions& options = TypeOptions()) {
    std::vector<Argument> described{Argument{std::string(),
                                             std::string(type_name<std::decay_t<As>>()),
                                             json_schema<std::decay_t<As>>()}...};
    constexpr bool kShown = std::is_same_v<R, Contents> || std::is_same_v<R, Content>;
    describe(name, std::move(described), std::move(arguments), json_schema<R>(), kShown);
    types().add(std::move(name), version, body, options);
    return *this;
  }
  // What may be asked of tasks of that type, and sent to them: for those who look, and checked by
  // nobody.
  template <class T>
  App& query(const std::string& type, const QueryName<T>& name) {
    return add_call(type, "query", name.string(), json_schema<T>());
  }
  template <class T>
  App& signal(const std::string& type, const SignalName<T>& name) {
    return add_call(type, "signal", name.string(), json_schema<T>());
  }
  // Tasks of that type as a tool of MCP clients (`mcp`, and /mcp of the daemon), by the name of the
  // type: a client that knows tasks gets a handle, every other one the result, or the id when the
  // task takes long. `about` is for the model. Errc::bad_argument when there is no such type, or a
  // tool of Tiffany's has that name. A result that is a Contents is shown as what it is, pictures
  // among it; every other one is a text.
  enum class ToolGives { either, result, handle };
  App& tool(const std::string& type, std::string about, ToolGives gives = ToolGives::either);
  // The JSON Schema of the arguments of a tool, for clients and models, instead of the one that is
  // made of the types; what is checked are the types. An argument with "x-mcp-header": "Region" is
  // sent in the header Mcp-Param-Region, too, where it must say the same. Errc::bad_argument when
  // there is no such tool, for what is no JSON of an object, and for headers that are none.
  App& tool_schema(const std::string& tool, std::string schema);
  // What MCP clients are offered besides tools. `make` gets texts by their names, and is run by the
  // daemon when a client asks: it is quick, for what takes long is a task. What it throws is the
  // sentence of a refusal. At most 4 MiB.
  using Texts = std::map<std::string, std::string, std::less<>>;
  using Making = std::function<Contents(const Texts&)>;
  class PromptArgument {
   public:
    PromptArgument(std::string of, std::string words = {}, std::vector<std::string> some = {})
        : name(std::move(of)), about(std::move(words)), values(std::move(some)) {}
    PromptArgument optional() && {
      required = false;
      return std::move(*this);
    }
    std::string name;
    std::string about;
    std::vector<std::string> values;  // that are proposed while a person types; others are taken
    bool required = true;
  };
  // A text that people pick in their client, often as a command with a slash:
  //   app.prompt("explain", "Explains an order.", {{"order", "its number"}},
  //              [](const App::Texts& given) { return "Explain order " + given.at("order"); });
  // The skills of agents are prompts, too. Errc::bad_argument for a name that is taken.
  App& prompt(std::string name, std::string about, Making make);
  App& prompt(std::string name, std::string about, std::vector<PromptArgument> arguments,
              Making make);
  // Something to read, at an address. A {name} in it stands for one part between slashes:
  //   app.resource("shop://orders/{id}", "An order.",
  //                [&](const App::Texts& in) { return orders.at(in.at("id")); });
  // Errc::bad_argument for an address that is none, is taken, or is of tiffany://.
  App& resource(std::string uri, std::string about, Making make);

  // Run by the daemon when its host is open: a task of the program's own, which is cancelled when
  // the daemon ends. One that fails ends the daemon.
  App& with(std::string name, std::function<Task<void>(Host&)> task);

  // What the values of tasks pass on their way into the log (wal/payload_codec.hpp). With it the
  // daemon and the command line show values; without it, that they are encrypted.
  App& codec(std::shared_ptr<const wal::PayloadCodec> codec);

  // Told what happens to the daemon's tasks, and asked before it does (durable/interceptor.hpp); in
  // the order in which they were given.
  App& intercept(std::shared_ptr<Interceptor> interceptor);

  Registry& types() noexcept;
  // The whole program. Gives its exit status.
  int main(int count, char** arguments);

  struct Argument {
    std::string name{};
    std::string type{};    // as the compiler writes it
    std::string schema{};  // JSON Schema
  };
  struct Call {
    std::string kind{};  // query, signal
    std::string name{};
    std::string schema{};
  };
  struct Type {
    std::string name{};
    std::vector<Argument> arguments{};
    std::string result{};  // JSON Schema
    std::vector<Call> calls{};
    bool shown = false;  // gives Contents
  };
  struct Tool {
    std::string type{};
    std::string about{};
    ToolGives gives = ToolGives::either;
    std::string schema{};  // of its author; empty: it is made of the types
    // The arguments that are also in headers, with the names of these.
    std::vector<std::pair<std::string, std::string>> headers{};
  };
  struct Prompt {
    std::string name{};
    std::string about{};
    std::vector<PromptArgument> arguments{};
    Making make{};
  };
  struct Resource {
    std::string uri{};  // or a template
    std::string about{};
    Making make{};
  };
  struct Work {
    std::string name{};
    std::function<Task<void>(Host&)> task{};
  };
  const std::string& name() const noexcept;
  const std::string& version() const noexcept;
  const std::vector<Type>& described() const noexcept;
  const std::vector<Tool>& tools() const noexcept;
  const std::vector<Prompt>& prompts() const noexcept;
  const std::vector<Resource>& resources() const noexcept;
  const std::vector<Work>& work() const noexcept;
  const std::shared_ptr<const wal::PayloadCodec>& codec() const noexcept;
  const std::vector<std::shared_ptr<Interceptor>>& interceptors() const noexcept;

 private:
  void describe(const std::string& type, std::vector<Argument> arguments,
                std::vector<std::string> names, std::string result, bool shown);
  App& add_call(const std::string& type, std::string kind, std::string name, std::string schema);

  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace tiffany

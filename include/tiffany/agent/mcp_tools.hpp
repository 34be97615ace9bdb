// Servers of others as tools: programs and services that speak MCP, in both of its eras
// (2026-07-28, and those that begin with initialize).
//
//   agent::McpOptions options("files");
//   options.command = {"mcp-server-filesystem", "/srv/shared"};
//   auto files = std::make_shared<agent::McpServer>(options);
//   co_await files->learn();                         // starts it and asks what it offers
//   agent::add_mcp_tools(services.tools, files);     // files__read_file, ...
//
// A server is trusted with nothing. What it says of its tools are texts of others; its hints are
// not looked at. Each tool asks, may happen once at most, and counts as one that reads what is
// private and tells the outside, unless McpOptions::traits says less.
//
// What was offered first is kept (McpServer::kept), and is what models and people see from then on.
// A tool that the server offers differently by now, or no more, is not called: the answer says so
// with ToolAnswer::drift, and an agent asks a person.
//
// A program is started for the first call, and again after it has ended, with pauses that grow. A
// call that was not handed over is handed over again. One whose answer was lost is unknown
// (StepUnknown) when the tool may happen once, and otherwise an Error that the step retries. A call
// that the server goes on with as a task of its own has a handle (ToolAnswer::handle), with which
// any process can wait for its end.
//
// Lifetime: the server outlives its tools by itself (shared). Programs end with the last of them;
// their group of processes is killed. Thread safety: none; any number of calls at a time on one
// scheduler.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/agent/http_model.hpp"
#include "tiffany/agent/tool.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::agent {

namespace mcp {
class Link;
class Session;
}  // namespace mcp

// What the operator says of a tool instead of what is assumed of all.
class McpTraits {
 public:
  McpTraits() = default;
  std::optional<StepEffect> effect{};
  std::optional<bool> ask{};
  std::optional<bool> reads_private{};
  std::optional<bool> untrusted{};
  std::optional<bool> writes_outside{};
};

class McpOptions {
 public:
  McpOptions() = default;
  explicit McpOptions(std::string called) : name(std::move(called)) {}

  std::string name{};                  // letters, digits, '-' and '_'; at most 24
  std::vector<std::string> command{};  // the words of a program that speaks on its standard streams
  std::string url{};                   // or a service: https, or http on loopback
  // Of a program:
  std::string directory{};
  std::vector<std::pair<std::string, std::string>> environment{};
  std::vector<exec::Secret> secrets{};  // variables whose values are read when it is started
  // Of a service:
  KeySource key{};
  std::string key_header = "authorization";
  std::string trust{};  // a PEM file besides what the system trusts

  Duration start = std::chrono::seconds(20);  // until it has said what it offers
  Duration idle = std::chrono::seconds(60);   // of a call: without an answer and without progress
  Duration deadline = std::chrono::minutes(10);  // of a call, whatever it says
  Duration task = std::chrono::hours(24);        // of a call that the server goes on with as a task
  std::size_t most_bytes = std::size_t{4} << 20;  // of a message
  std::vector<std::string> allow{};           // names of tools, as the server has them; empty: all
  std::map<std::string, McpTraits> traits{};  // by these names
  std::string pin{};  // McpServer::list_digest() that is expected; empty: the first is kept
};

// What a server offers by now, beside what is kept.
struct McpChange {
  std::string tool{};
  std::string change{};  // "added", "removed", "changed"
  std::string text{};    // descriptions and schemas, as they were and as they are
};
struct McpDifference {
  std::string kept{};  // digests of both lists
  std::string now{};
  std::vector<McpChange> changes{};  // of tools that are allowed
};

class McpServer {
 public:
  // Errc::bad_argument for options that cannot be. Reads certificates for https, and so blocks.
  explicit McpServer(McpOptions options);
  // Over links that somebody else makes: for tests.
  McpServer(McpOptions options, std::function<Task<std::shared_ptr<mcp::Link>>()> connect);
  ~McpServer();
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  const McpOptions& options() const noexcept;

  // What kept() gave in an earlier process. False: it is of other options, or cannot be read; then
  // nothing is known.
  bool know(std::string_view kept);
  // Asks the server what it offers. Throws Errc::io_failed or Errc::bad_reply with a sentence when
  // it cannot be reached, speaks something else, or offers what does not fit to the pin. Cancel:
  // nothing is known.
  Task<void> learn();
  // Asks the server what it offers now. Nothing else changes. Throws as learn().
  Task<McpDifference> compare();
  // What the server offers now is what is kept from here on, if it has that digest: somebody has
  // looked at it. Errc::bad_argument when it is another list by now, or does not fit to the pin.
  // Tools that were made before stay as they were; see add_mcp_tools().
  Task<void> accept(std::string digest);
  bool known() const noexcept;
  std::string kept() const;
  // SHA-256 over all tools that are allowed: names, descriptions and schemas.
  std::string list_digest() const;
  // Tools that are offered and left out, each with a sentence.
  const std::vector<std::string>& left_out() const noexcept;

  // A program is told to end, and killed after a second. Calls that are under way fail.
  Task<void> close();

 private:
  friend void add_mcp_tools(ToolSet& tools, const std::shared_ptr<McpServer>& server);
  std::shared_ptr<mcp::Session> session_;
};

// One tool for each that is known, by the name of the server and its own: "files__read_file".
// Errc::bad_tool when another tool has such a name.
void add_mcp_tools(ToolSet& tools, const std::shared_ptr<McpServer>& server);

}  // namespace tiffany::agent

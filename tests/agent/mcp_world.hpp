// A server of tools in memory, for tests of the client: it answers as both eras do, unless a test
// says otherwise.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/mcp_link.hpp"
#include "agent/model_world.hpp"
#include "tiffany/agent/mcp_tools.hpp"
#include "tiffany/io/pipe.hpp"

namespace tiffany::agent::mcp_test {

using namespace std::chrono_literals;
using model_test::in_world;

inline std::string tool_json(const std::string& name, const std::string& about = "for tests",
                             const std::string& schema = R"({"type":"object"})") {
  return "{\"name\":" + mcp::json_text(name) + ",\"description\":" + mcp::json_text(about) +
         ",\"inputSchema\":" + schema + "}";
}
inline std::string text_result(const std::string& text) {
  return R"({"content":[{"type":"text","text":)" + mcp::json_text(text) + "}]}";
}

class Peer {
 public:
  Peer() = default;
  bool modern = false;
  std::string tools = tool_json("echo");  // between the brackets
  // The result of tools/call, or nothing: no answer.
  std::function<std::string(const std::string& name, const std::string& arguments)> called =
      [](const std::string&, const std::string& arguments) { return text_result(arguments); };
  // Said before the answer to a call: lines.
  std::function<std::string(const std::string& id)> before_answer;
  // What is said to a line instead of all this, if it gives something.
  std::function<std::string(const mcp::Said& asked)> instead;
  bool deaf = false;           // reads nothing
  bool ends_at_calls = false;  // closes its streams instead of an answer
  int connections = 0;
  int calls = 0;
  std::vector<std::string> heard{};

  static std::string result(const std::string& id, const std::string& json) {
    return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"result\":" + json + "}\n";
  }
  static std::string error(const std::string& id, int code, const std::string& text) {
    return "{\"jsonrpc\":\"2.0\",\"id\":" + id + ",\"error\":{\"code\":" + std::to_string(code) +
           ",\"message\":" + mcp::json_text(text) + "}}\n";
  }

  std::string answer(const std::string& line) {
    heard.push_back(line);
    const mcp::Said asked = mcp::read_said(line);
    if (instead) {
      const std::string said = instead(asked);
      if (!said.empty()) return said;
    }
    if (asked.id.empty() || asked.is_answer()) return {};
    if (asked.method == "server/discover") {
      return modern ? result(asked.id, R"({"resultType":"complete","supportedVersions":[)"
                                       R"("2026-07-28"],"capabilities":{"tools":{}}})")
                    : error(asked.id, -32601, "Method not found");
    }
    if (asked.method == "initialize") {
      if (modern) return error(asked.id, -32601, "Method not found");
      return "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n" +
             result(asked.id, R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}}})");
    }
    if (asked.method == "tools/list") return result(asked.id, "{\"tools\":[" + tools + "]}");
    if (asked.method != "tools/call") return error(asked.id, -32601, "Method not found");
    ++calls;
    const std::string before = before_answer ? before_answer(asked.id) : "";
    const std::string json = called(asked.params.text("name"), asked.params.raw("arguments"));
    return before + (json.empty() ? "" : result(asked.id, json));
  }
  bool was_told(std::string_view part) const {
    for (const std::string& each : heard) {
      if (each.find(part) != std::string::npos) return true;
    }
    return false;
  }
};

inline Task<void> serve_peer(Peer* peer, std::shared_ptr<ByteStream> from,
                             std::shared_ptr<ByteStream> to) {
  std::array<char, 4096> room;
  std::string buffer;
  try {
    while (!peer->deaf) {
      const std::size_t came = co_await from->read(room);
      if (came == 0) co_return;
      buffer.append(room.data(), came);
      for (std::size_t end = 0; (end = buffer.find('\n')) != std::string::npos;) {
        const std::string line = buffer.substr(0, end);
        buffer.erase(0, end + 1);
        if (peer->ends_at_calls && line.find("tools/call") != std::string::npos) {
          ++peer->calls;
          co_return;
        }
        const std::string said = peer->answer(line);
        if (!said.empty()) co_await to->write(said);
      }
    }
    co_await sleep(24h);
  } catch (const IoError&) {  // nobody listens any more
  }
}

// A function that connects to the peer.
inline std::function<Task<std::shared_ptr<mcp::Link>>()> to_peer(Peer& peer,
                                                                 std::size_t most = 1 << 20) {
  return [&peer, most]() -> Task<std::shared_ptr<mcp::Link>> {
    ++peer.connections;
    Pipe there = make_pipe();
    Pipe back = make_pipe();
    Scheduler::require("test")
        .spawn(serve_peer, &peer, std::make_shared<ByteStream>(std::move(there.read_end)),
               std::make_shared<ByteStream>(std::move(back.write_end)))
        .daemon();
    co_return mcp::link_over(std::move(back.read_end), std::move(there.write_end), most);
  };
}

inline McpOptions options_of(std::string name = "peer") {
  McpOptions options(std::move(name));
  options.command = {"peer"};
  return options;
}

// What a call came to.
struct Outcome {
  ToolAnswer answer{};
  std::string kind = "answer";  // or the name of an error
  std::string sentence{};
};
inline Task<Outcome> outcome_of(Tool* tool, std::string arguments, std::string accepted = "") {
  Outcome outcome;
  ToolContext where;
  where.accepted = std::move(accepted);
  try {
    outcome.answer = co_await tool->run(where, std::move(arguments));
  } catch (const Error& error) {
    outcome.kind = name_of(error.code());
    outcome.sentence = error.what();
  }
  co_return outcome;
}

// A server over a peer, in a world of memory.
inline void with_peer(Peer& peer, McpOptions options,
                      const std::function<Task<void>(std::shared_ptr<McpServer>)>& code,
                      std::uint64_t seed = 1) {
  const std::function<Task<void>()> all = [&]() -> Task<void> {
    auto server = std::make_shared<McpServer>(options, to_peer(peer));
    co_await code(server);
  };
  in_world(seed, all);
}
// The same, with the tools of it.
inline void with_tools(Peer& peer, McpOptions options,
                       const std::function<Task<void>(ToolSet&)>& code, std::uint64_t seed = 1) {
  const std::function<Task<void>(std::shared_ptr<McpServer>)> all =
      [&](std::shared_ptr<McpServer> server) -> Task<void> {
    co_await server->learn();
    ToolSet tools;
    add_mcp_tools(tools, server);
    co_await code(tools);
  };
  with_peer(peer, std::move(options), all, seed);
}

}  // namespace tiffany::agent::mcp_test

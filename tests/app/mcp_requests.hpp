// Messages to /mcp of a daemon, for tests.
#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "app/cli_runner.hpp"

namespace tiffany::daemon_tests {
namespace mcp_http {

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

using Headers = std::vector<std::pair<std::string, std::string>>;

inline constexpr const char* kTasks = R"({"extensions":{"io.modelcontextprotocol/tasks":{}}})";
inline constexpr const char* kTasksAndForms =
    R"({"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}})";

inline std::string meta_of(const std::string& capabilities,
                           const std::string& version = "2026-07-28") {
  return R"("_meta":{"io.modelcontextprotocol/protocolVersion":")" + version +
         R"(","io.modelcontextprotocol/clientCapabilities":)" + capabilities + "}";
}
inline std::string request_of(const std::string& method, const std::string& params,
                              const std::string& id = "1") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":")" + method + R"(","params":{)" + params +
         "}}";
}

inline Task<void> ask(Address to, http::Request request, http::Response* answer) {
  *answer = co_await http::fetch(to, std::move(request));
}

class McpHttpTest : public DepotTest {
 protected:
  static http::Request message(const std::string& body, const Headers& headers) {
    http::Request request("POST", "/mcp");
    request.headers.set("host", "127.0.0.1:" + std::to_string(daemon_->port()));
    request.headers.set("content-type", "application/json");
    request.headers.set("accept", "application/json, text/event-stream");
    request.headers.set("authorization", "Bearer " + daemon_->token());
    for (const auto& [name, value] : headers) request.headers.set(name, value);
    request.body = body;
    return request;
  }
  static http::Response send(http::Request request) {
    http::Response answer;
    EXPECT_EQ(run(ask(daemon_->tcp(), std::move(request), &answer)), 0);
    return answer;
  }
  static http::Response post_message(const std::string& body, const Headers& headers = {}) {
    return send(message(body, headers));
  }
  // Of the era without a handshake, with the headers that belong to it.
  static http::Response modern(const std::string& method, const std::string& params,
                               const std::string& name = "", const char* capabilities = "{}",
                               Headers more = {}) {
    more.insert(more.begin(), {{"mcp-protocol-version", "2026-07-28"}, {"mcp-method", method}});
    if (!name.empty()) more.emplace_back("mcp-name", name);
    const std::string comma = params.empty() ? "" : ",";
    return post_message(request_of(method, params + comma + meta_of(capabilities)), more);
  }
  static std::string call(const std::string& tool, const std::string& arguments,
                          const char* capabilities = "{}", const Headers& more = {}) {
    return modern("tools/call", R"("name":")" + tool + R"(","arguments":)" + arguments, tool,
                  capabilities, more)
        .body;
  }
  static std::string about(const std::string& method, const std::string& task,
                           const std::string& more = "", const char* capabilities = kTasks) {
    return modern("tasks/" + method, R"("taskId":")" + task + "\"" + more, task, capabilities).body;
  }
  static std::string token_of(const std::string& role) {
    const http::Response made = post(daemon_->socket(), "/tokens",
                                     R"({"name":"mcp-)" + role + R"(","role":")" + role + "\"}");
    return member_of(made.body, "token");
  }
};

// Sends these bytes, and hears everything until the daemon closes the connection.
inline Task<void> hear_all(Address to, std::string bytes, std::string* heard) {
  Socket socket = co_await connect(to);
  co_await socket.write(bytes);
  std::array<char, 65536> room;
  for (std::size_t n = 1; n > 0;) {
    n = co_await socket.read(room);
    heard->append(room.data(), n);
  }
}

}  // namespace mcp_http
}  // namespace tiffany::daemon_tests

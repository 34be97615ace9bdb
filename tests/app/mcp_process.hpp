// `mcp` as a client starts it, for tests.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "app/cli_runner.hpp"

namespace tiffany::daemon_tests {
namespace mcp {

// The server as a client starts it.
class McpProcess {
 public:
  explicit McpProcess(const std::string& socket, const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{DEPOT, "--socket", socket, "mcp"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) {
      throw std::runtime_error("no pipe");
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    posix_spawn(&pid_, DEPOT, &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    in_ = to[1];
    out_ = from[0];
  }
  ~McpProcess() {
    if (pid_ > 0) end();
    if (in_ >= 0) close(in_);
    if (out_ >= 0) close(out_);
  }
  McpProcess(const McpProcess&) = delete;
  McpProcess& operator=(const McpProcess&) = delete;

  void send(const std::string& line) const {
    const std::string text = line + "\n";
    for (std::size_t at = 0; at < text.size();) {
      const ssize_t n = write(in_, text.data() + at, text.size() - at);
      ASSERT_GT(n, 0);
      at += static_cast<std::size_t>(n);
    }
  }
  // The next message; empty: the server has closed its output.
  std::string next() {
    constexpr int kLongest = 30'000;
    for (;;) {
      const std::size_t end = said_.find('\n');
      if (end != std::string::npos) {
        std::string line = said_.substr(0, end);
        said_.erase(0, end + 1);
        return line;
      }
      pollfd readable{out_, POLLIN, 0};
      if (poll(&readable, 1, kLongest) <= 0) return "(nothing came)";
      char room[65536];
      const ssize_t n = read(out_, room, sizeof room);
      if (n <= 0) return said_;
      said_.append(room, static_cast<std::size_t>(n));
    }
  }
  std::string ask(const std::string& line) {
    send(line);
    return next();
  }
  // Its exit status, after the end of its input, or by itself.
  int end(bool by_itself = false) {
    if (!by_itself) {
      close(in_);
      in_ = -1;
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void stop_reading() {
    close(out_);
    out_ = -1;
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::string said_;
};

inline constexpr const char* kMeta =
    R"("_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
    R"("io.modelcontextprotocol/clientCapabilities":{}})";

inline std::string initialize(const std::string& version) {
  return R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":")" +
         version + R"(","capabilities":{},"clientInfo":{"name":"test","version":"1"}}})";
}
inline std::string tool_call(const std::string& id, const std::string& name,
                             const std::string& arguments, const std::string& meta = "") {
  return R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"tools/call","params":{"name":")" + name +
         R"(","arguments":)" + arguments + (meta.empty() ? "" : "," + meta) + "}}";
}
inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class McpTest : public DepotTest {
 protected:
  static std::string socket() { return directory_->path() + "/tiffany.sock"; }
  McpTest() : server_(socket()) {}
  void shake_hands(const std::string& version = "2025-11-25") {
    const std::string said = server_.ask(initialize(version));
    ASSERT_TRUE(has(said, "\"protocolVersion\":\"" + version + "\"")) << said;
    server_.send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  }
  // The id of a task, started by a tool.
  std::string submitted(const std::string& arguments) {
    const std::string said = server_.ask(tool_call("\"s\"", "submit", arguments));
    EXPECT_TRUE(has(said, "\"isError\":false")) << said;
    return member_of(said.substr(said.find("structuredContent")), "id");
  }
  std::string refusal(const std::string& line) {
    const std::string said = server_.ask(line);
    EXPECT_TRUE(has(said, "\"error\"")) << said;
    const std::size_t code = said.find("\"code\":");
    return said.substr(code + 7, 6) + " " + member_of(said, "message");
  }
  McpProcess server_;
};

}  // namespace mcp
}  // namespace tiffany::daemon_tests

// What one call of a tool costs over MCP on standard streams, with both ends: `get` of a task that
// has ended, asked of `tiffany mcp`, which asks a daemon. And `ping`, which asks no daemon.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "durable/workloads.hpp"
#include "row.hpp"

extern char** environ;

namespace {

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "mcp_call: %s\n", why.c_str());
  std::exit(1);
}

// A program, with its input and output as pipes. Ended by its number.
class Child {
 public:
  explicit Child(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    int to[2];
    int from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) give_up("there is no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    if (posix_spawn(&pid_, pointers[0], &actions, nullptr, pointers.data(), environ) != 0) {
      give_up(words[0] + " cannot be started");
    }
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    in_ = to[1];
    out_ = from[0];
  }
  ~Child() {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
    close(in_);
    close(out_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  std::string until(std::string_view text) {
    std::size_t end = std::string::npos;
    while ((end = said_.find(text)) == std::string::npos) {
      char room[65536];
      const ssize_t n = read(out_, room, sizeof room);
      if (n <= 0) give_up("it has ended: " + said_);
      said_.append(room, static_cast<std::size_t>(n));
    }
    std::string said = said_.substr(0, end);
    said_.erase(0, end + text.size());
    return said;
  }
  std::string ask(const std::string& line) {
    const std::string text = line + "\n";
    if (write(in_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      give_up("nobody reads");
    }
    return until("\n");
  }

 private:
  pid_t pid_ = -1;
  int in_ = -1;
  int out_ = -1;
  std::string said_;
};

std::string tool_call(int id, const std::string& name, const std::string& arguments) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
         R"(,"method":"tools/call","params":{"name":")" + name + R"(","arguments":)" + arguments +
         "}}";
}

template <class F>
double median_us(int calls, const F& call) {
  std::vector<double> all;
  for (int i = 0; i < calls; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const std::string said = call(i);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    if (said.find("\"result\"") == std::string::npos) give_up("no result: " + said);
    all.push_back(took.count());
  }
  std::ranges::sort(all);
  return all[all.size() / 2];
}

// What a call is timed over: a daemon, `tiffany mcp`, and a task that has ended.
class Connection {
 public:
  Connection()
      : daemon_({TIFFANY_PROGRAM, "serve", "--data", scratch_.path() + "/data", "--socket",
                 scratch_.path() + "/s"}) {
    daemon_.until("listens on unix:");
    mcp_.emplace(
        std::vector<std::string>{TIFFANY_PROGRAM, "--socket", scratch_.path() + "/s", "mcp"});
    mcp_->ask(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":)"
              R"("2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})");
    const std::string plan =
        R"({"plan":"name: bench\nsteps:\n  - name: one\n    run: [\"true\"]\n"})";
    const std::string started = mcp_->ask(tool_call(1, "submit", plan));
    const std::size_t at = started.find("\\\"id\\\":\\\"");
    if (at == std::string::npos) give_up("nothing was started: " + started);
    task_ = R"({"task":")" + started.substr(at + 9, 36) + "\"}";
    mcp_->ask(tool_call(2, "wait", task_));
  }
  std::string get(int i) { return mcp_->ask(tool_call(i, "get", task_)); }
  std::string ping(int i) {
    return mcp_->ask(R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"ping"})");
  }

 private:
  durable_rows::Scratch scratch_;
  Child daemon_;
  std::optional<Child> mcp_;
  std::string task_;
};

int calls(const bench::Suite& suite) { return suite.quick() ? 500 : 2000; }

// Bar: 300 us.
double get_us(const bench::Suite& suite) {
  Connection connection;
  return median_us(calls(suite), [&](int i) { return connection.get(i); });
}
double ping_us(const bench::Suite& suite) {
  Connection connection;
  return median_us(calls(suite), [&](int i) { return connection.ping(i); });
}

const bench::Row get_row("mcp_get", "us", bench::Weight::light, get_us);
const bench::Row ping_row("mcp_ping", "us", bench::Weight::light, ping_us);

}  // namespace

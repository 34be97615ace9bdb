// What one call of a tool costs over MCP on standard streams, with both ends: `get` of a task that
// has ended, asked of `tiffany mcp`, which asks a daemon.
//
//   bench_agent_mcp_call [calls]      (default 2000)
//
// Prints a line of JSON: the median in microseconds, and that of `ping`, which asks no daemon.
// Bar: get at most 300 us.
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
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace

int main(int count, char** words) {
  const std::string program = TIFFANY_PROGRAM;
  const int calls = count > 1 ? std::atoi(words[1]) : 2000;
  std::string data = std::filesystem::temp_directory_path() / "mcp-call-XXXXXX";
  if (mkdtemp(data.data()) == nullptr) give_up("there is no directory");
  double get = 0;
  double ping = 0;
  {
    const std::string socket = data + "/tiffany.sock";
    Child daemon({program, "serve", "--data", data, "--socket", socket});
    daemon.until("listens on unix:");
    Child mcp({program, "--socket", socket, "mcp"});
    mcp.ask(R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":)"
            R"("2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})");
    const std::string plan =
        R"({"plan":"name: bench\nsteps:\n  - name: one\n    run: [\"true\"]\n"})";
    const std::string started = mcp.ask(tool_call(1, "submit", plan));
    const std::size_t at = started.find("\\\"id\\\":\\\"");
    if (at == std::string::npos) give_up("nothing was started: " + started);
    const std::string task = R"({"task":")" + started.substr(at + 9, 36) + "\"}";
    mcp.ask(tool_call(2, "wait", task));
    get = median_us(calls, [&](int i) { return mcp.ask(tool_call(i, "get", task)); });
    ping = median_us(calls, [&](int i) {
      return mcp.ask(R"({"jsonrpc":"2.0","id":)" + std::to_string(i) + R"(,"method":"ping"})");
    });
  }
  std::error_code ignored;
  std::filesystem::remove_all(data, ignored);
  std::printf("{\"calls\":%d,\"get_us\":%.1f,\"ping_us\":%.1f}\n", calls, get, ping);
  return 0;
}

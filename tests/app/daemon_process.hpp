// A daemon in a process of its own, for tests: started on a directory, spoken to over its sockets,
// and killed by its number when the test ends.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tiffany/engine/run.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/serve/http_client.hpp"

extern char** environ;

namespace tiffany::daemon_tests {

class TempDirectory {
 public:
  TempDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "tiffany-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TempDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

class DaemonProcess {
 public:
  // Returns when the daemon listens, or has ended: running() says which. Or at once.
  explicit DaemonProcess(std::string data, std::vector<std::string> more = {},
                         const char* program = SHOP, bool at_once = false)
      : data_(std::move(data)) {
    std::vector<std::string> words{program, "serve", "--data", data_, "--listen", "127.0.0.1:0"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
    posix_spawn(&pid_, program, &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    output_ = ends[0];
    if (at_once) return;
    says("listens on http://");
    const std::size_t at = said_.find("http://127.0.0.1:");
    running_ = at != std::string::npos;
    if (running_) port_ = static_cast<std::uint16_t>(std::stoi(said_.substr(at + 17)));
  }
  ~DaemonProcess() {
    if (pid_ > 0) end(SIGKILL);
    close(output_);
  }
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  bool running() const noexcept { return running_; }
  pid_t pid() const noexcept { return pid_; }
  std::uint16_t port() const noexcept { return port_; }
  // Until the process has ended; gives its exit status, or minus the signal.
  int end(int with) {
    kill(pid_, with);
    return wait();
  }
  int wait() {
    while (read_more()) {
    }
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  const std::string& said() const noexcept { return said_; }
  // Waits until the daemon has said that; false: the daemon has ended without.
  bool says(std::string_view text) {
    while (said_.find(text) == std::string::npos) {
      if (!read_more()) return false;
    }
    return true;
  }

  Address socket() const { return Address::unix_path(data_ + "/tiffany.sock"); }
  Address tcp() const { return Address::loopback(port_); }
  std::string file(const std::string& name) const {
    std::string text;
    const int fd = open((data_ + "/" + name).c_str(), O_RDONLY | O_CLOEXEC);
    char room[4096];
    ssize_t n = 0;
    while (fd >= 0 && (n = read(fd, room, sizeof room)) > 0) {
      text.append(room, static_cast<std::size_t>(n));
    }
    if (fd >= 0) close(fd);
    return text;
  }
  std::string token() const {
    std::string text = file("admin.token");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }

 private:
  bool read_more() {
    char room[4096];
    const ssize_t n = read(output_, room, sizeof room);
    if (n > 0) said_.append(room, static_cast<std::size_t>(n));
    return n > 0;
  }
  std::string data_;
  std::string said_;
  pid_t pid_ = -1;
  int output_ = -1;
  bool running_ = false;
  std::uint16_t port_ = 0;
};

inline Task<void> fetch_into(Address to, http::Request request, http::Response* answer) {
  *answer = co_await http::fetch(to, std::move(request));
}

// One request, and its answer.
inline http::Response ask(const Address& to, http::Request request) {
  if (!request.headers.has("host")) {
    request.headers.set("host", to.is_unix() ? "tiffany" : to.text());
  }
  http::Response answer;
  EXPECT_EQ(run(fetch_into(to, std::move(request), &answer)), 0);
  return answer;
}
inline http::Response get(const Address& to, const std::string& path) {
  return ask(to, http::Request("GET", "/api/v1" + path));
}
inline http::Response post(const Address& to, const std::string& path, std::string body) {
  http::Request request("POST", "/api/v1" + path);
  request.body = std::move(body);
  return ask(to, std::move(request));
}

// The first text between `name":"` and the next quote.
inline std::string member_of(const std::string& json, const std::string& name) {
  const std::string begin = "\"" + name + "\":\"";
  const std::size_t at = json.find(begin);
  if (at == std::string::npos) return "";
  const std::size_t from = at + begin.size();
  return json.substr(from, json.find('"', from) - from);
}

}  // namespace tiffany::daemon_tests

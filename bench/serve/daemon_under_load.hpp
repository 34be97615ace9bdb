// What the rows of bench/serve share: a daemon in a process of its own, and a client that costs
// next to nothing, over plain system calls.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "row.hpp"

namespace serve_rows {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The load is on the first core, what is measured on the second.
inline void run_on_core(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);  // a machine with one core runs both on it
}

// Beside the program, on its disk; gone at the end.
class Scratch {
 public:
  Scratch() {
    const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    std::string name = (beside / "scratch-XXXXXX").string();
    bench::check(mkdtemp(name.data()) != nullptr, "a directory beside the program can be made");
    path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

// A process on the second core, whose standard output is read here.
class Measured {
 public:
  explicit Measured(std::vector<std::string> words) {
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    int in[2];
    int out[2];
    bench::check(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0, "there are pipes");
    pid_ = fork();
    if (pid_ == 0) {
      run_on_core(1);
      dup2(in[0], 0);
      dup2(out[1], 1);
      execv(pointers[0], pointers.data());
      _exit(127);
    }
    run_on_core(0);
    close(in[0]);
    close(out[1]);
    input_ = in[1];
    output_ = out[0];
  }
  ~Measured() {
    close(input_);
    kill(pid_, SIGTERM);
    for (char room[4096]; read(output_, room, sizeof room) > 0;) {
    }
    close(output_);
    waitpid(pid_, nullptr, 0);
  }
  Measured(const Measured&) = delete;
  Measured& operator=(const Measured&) = delete;

  // What has been printed up to the end of the line with that text.
  std::string said_until(std::string_view text) {
    std::string said;
    char c = 0;
    while (read(output_, &c, 1) == 1) {
      said += c;
      if (c == '\n' && said.find(text) != std::string::npos) return said;
    }
    std::fprintf(stderr, "bench: %s\n", said.c_str());
    bench::check(false, "the program that is measured has started");
    return said;
  }
  pid_t pid() const noexcept { return pid_; }
  // Processor time, in seconds.
  double cpu() const {
    clockid_t clock = 0;
    timespec time{};
    bench::check(clock_getcpuclockid(pid_, &clock) == 0 && clock_gettime(clock, &time) == 0,
                 "the processor time of a process can be read");
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  }
  // Resident, in bytes.
  double memory() const {
    std::FILE* const file = std::fopen(("/proc/" + std::to_string(pid_) + "/statm").c_str(), "r");
    long size = 0;
    long resident = 0;
    bench::check(file != nullptr && std::fscanf(file, "%ld %ld", &size, &resident) == 2,
                 "the memory of a process can be read");
    std::fclose(file);
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
  }
  // How often its threads have slept and were woken.
  long wakes() const {
    long all = 0;
    for (const auto& thread :
         std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task")) {
      std::FILE* const file = std::fopen((thread.path() / "status").c_str(), "r");
      if (file == nullptr) continue;
      for (char line[256]; std::fgets(line, sizeof line, file) != nullptr;) {
        long count = 0;
        if (std::sscanf(line, "voluntary_ctxt_switches: %ld", &count) == 1) all += count;
      }
      std::fclose(file);
    }
    return all;
  }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
};

class Daemon {
 public:
  explicit Daemon(const std::string& data, std::vector<std::string> more = {})
      : started_(Clock::now()),
        process_(words(data, std::move(more))),
        socket_(data + "/tiffany.sock") {
    const std::string said = process_.said_until("listens on http://");
    ready_ = seconds_since(started_);
    port_ = std::atoi(said.c_str() + said.find("http://127.0.0.1:") + 17);
  }

  Measured& process() noexcept { return process_; }
  int port() const noexcept { return port_; }
  // From before the start of the process to when it had said that it is ready.
  double start_seconds() const noexcept { return ready_; }

  int connect() const {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    bench::check(socket_.size() < sizeof to.sun_path, "the path of the socket is short enough");
    std::memcpy(to.sun_path, socket_.c_str(), socket_.size());
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) {
      bench::check(errno == EAGAIN || errno == EINTR, "the daemon can be connected to");
      usleep(1000);
    }
    return fd;
  }

 private:
  static std::vector<std::string> words(const std::string& data, std::vector<std::string> more) {
    std::vector<std::string> all{TIFFANY_DAEMON, "serve",       "--data", data,
                                 "--listen",     "127.0.0.1:0", "--log",  "warn"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Clock::time_point started_;
  Measured process_;
  std::string socket_;
  double ready_ = 0;
  int port_ = 0;
};

// ---- A client ----

inline std::string request_text(std::string_view method, std::string_view path,
                                std::string_view body = "") {
  std::string text;
  text += method;
  text += " /api/v1";
  text += path;
  text += " HTTP/1.1\r\nhost: tiffany\r\n";
  if (!body.empty()) {
    text +=
        "content-type: application/json\r\ncontent-length: " + std::to_string(body.size()) + "\r\n";
  }
  text += "\r\n";
  text += body;
  return text;
}

// Takes whole answers with a content-length off the front of what has come.
class Answers {
 public:
  void add(const char* bytes, std::size_t size) { text_.append(bytes, size); }
  // The next answer's body; false: it has not come as a whole.
  bool take(int& status, std::string_view& body) {
    const std::size_t head = text_.find("\r\n\r\n", at_);
    if (head == std::string::npos) return compact();
    const std::size_t length = text_.find("content-length: ", at_);
    bench::check(length < head, "an answer says its length");
    const std::size_t size = std::strtoul(text_.c_str() + length + 16, nullptr, 10);
    if (text_.size() < head + 4 + size) return compact();
    status = std::atoi(text_.c_str() + at_ + 9);
    body = std::string_view(text_).substr(head + 4, size);
    at_ = head + 4 + size;
    return true;
  }

 private:
  bool compact() {
    text_.erase(0, at_);
    at_ = 0;
    return false;
  }
  std::string text_;
  std::size_t at_ = 0;
};

inline void send_whole(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = send(fd, text.data(), text.size(), MSG_NOSIGNAL);
    bench::check(n > 0 || errno == EINTR, "the daemon reads");
    if (n > 0) text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// One request and its answer, on a connection that is kept.
inline std::string ask(int fd, const std::string& request) {
  send_whole(fd, request);
  Answers answers;
  std::vector<char> room(std::size_t{256} << 10);
  int status = 0;
  std::string_view body;
  while (!answers.take(status, body)) {
    const ssize_t n = recv(fd, room.data(), room.size(), 0);
    bench::check(n > 0, "the daemon answers");
    answers.add(room.data(), static_cast<std::size_t>(n));
  }
  if (status >= 300)
    std::fprintf(stderr, "bench: %.*s\n", static_cast<int>(body.size()), body.data());
  bench::check(status < 300, "the daemon answers with success");
  return std::string(body);
}

// `count` requests on one connection, at most `ahead` of which are unanswered. Gives each answer.
template <class Make, class Answer>
void pipeline(int fd, std::size_t count, std::size_t ahead, Make make, Answer answer) {
  Answers answers;
  std::vector<char> room(std::size_t{256} << 10);
  std::size_t asked = 0;
  std::size_t answered = 0;
  std::string waiting;
  while (answered < count) {
    while (asked < count && asked - answered < ahead && waiting.size() < (std::size_t{64} << 10)) {
      waiting += make(asked++);
    }
    pollfd both{fd, static_cast<short>(waiting.empty() ? POLLIN : POLLIN | POLLOUT), 0};
    bench::check(poll(&both, 1, 30'000) > 0, "the daemon goes on");
    if ((both.revents & POLLOUT) != 0) {
      const ssize_t n = send(fd, waiting.data(), waiting.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) waiting.erase(0, static_cast<std::size_t>(n));
    }
    if ((both.revents & (POLLIN | POLLHUP)) == 0) continue;
    const ssize_t n = recv(fd, room.data(), room.size(), MSG_DONTWAIT);
    bench::check(n > 0, "the daemon answers");
    answers.add(room.data(), static_cast<std::size_t>(n));
    int status = 0;
    for (std::string_view body; answers.take(status, body); ++answered) {
      bench::check(status < 300, "the daemon answers with success");
      answer(body);
    }
  }
}
inline void pipeline(int fd, std::size_t count, std::size_t ahead, const std::string& request) {
  pipeline(fd, count, ahead, [&](std::size_t) { return request; }, [](std::string_view) {});
}

// The text of the first member of that name.
inline std::string text_member(std::string_view json, const std::string& name) {
  const std::string begin = "\"" + name + "\":\"";
  const std::size_t at = json.find(begin);
  if (at == std::string_view::npos) return "";
  const std::size_t from = at + begin.size();
  return std::string(json.substr(from, json.find('"', from) - from));
}

inline double at_part(std::vector<double>& all, double part) {
  bench::check(!all.empty(), "something was measured");
  std::sort(all.begin(), all.end());
  return all[static_cast<std::size_t>(static_cast<double>(all.size() - 1) * part)];
}

// Processor time for each request of wrk with 100 connections, in us.
inline double wrk_cost(const bench::Suite& suite, Measured& server, int port) {
  const std::string command = "wrk -t1 -c100 -d" + std::to_string(suite.scale(3, 1)) +
                              "s http://127.0.0.1:" + std::to_string(port) + "/healthz 2>&1";
  const double before = server.cpu();
  std::FILE* const wrk = popen(command.c_str(), "r");
  double requests = 0;
  for (char line[256]; wrk != nullptr && std::fgets(line, sizeof line, wrk) != nullptr;) {
    double count = 0;
    if (std::sscanf(line, " %lf requests in", &count) == 1) requests = count;
    bench::check(std::strstr(line, "Non-2xx") == nullptr, "each request is answered with 200");
  }
  bench::check(wrk != nullptr && pclose(wrk) == 0 && requests > 0, "wrk (apt install wrk) runs");
  return 1e6 * (server.cpu() - before) / requests;
}

}  // namespace serve_rows

// The server rows of one peer: starts its server, gives it a load, and reports what a request cost
// the server. Built once for each peer, with the path of its server (of its servers, where the
// better one counts) in TIFFANY_SERVERS, separated by colons.
//
//   echo_*          processor time of the server per request, us; one request in flight per
//                   connection
//   http_hello      the same, the load comes from wrk
//   uds_ping_pong   time of a round trip on one unix socket, us
//   idle_conn_rss   memory of the server per connection that does nothing, bytes
//
// The server runs on the second core, the load on the first.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "row.hpp"

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(what + ": " + std::strerror(errno));
}

void run_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);  // a machine with one core runs both on it
}

class Server {
 public:
  Server(const std::string& path, const char* mode) {
    int to[2];
    int from[2];
    if (pipe(to) != 0 || pipe(from) != 0) fail("pipe");
    pid_ = fork();
    if (pid_ == 0) {
      run_on(1);
      dup2(to[0], 0);
      dup2(from[1], 1);
      for (const int fd : {to[0], to[1], from[0], from[1]}) close(fd);
      execl(path.c_str(), path.c_str(), mode, nullptr);
      _exit(127);
    }
    close(to[0]);
    close(from[1]);
    input_ = to[1];
    char c = 0;
    while (read(from[0], &c, 1) == 1 && c != '\n') address_ += c;
    close(from[0]);
    run_on(0);
    if (address_.empty()) fail("the server " + path + " did not start");
  }
  ~Server() {
    close(input_);
    waitpid(pid_, nullptr, 0);
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  const std::string& address() const { return address_; }

  int connect() const {
    int fd = -1;
    if (address_[0] == '@' || address_[0] == '/') {
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      std::memcpy(to.sun_path, address_.data(), address_.size());
      if (address_[0] == '@') to.sun_path[0] = '\0';
      fd = socket(AF_UNIX, SOCK_STREAM, 0);
      const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address_.size() +
                                               (address_[0] == '/' ? 1 : 0));
      if (::connect(fd, reinterpret_cast<sockaddr*>(&to), size) != 0) fail("connect");
      return fd;
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address_)));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || ::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) != 0) fail("connect");
    const int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
  }
  // Processor time, in seconds.
  double cpu() const {
    clockid_t clock = 0;
    timespec time{};
    if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) fail("clock");
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  }
  double memory() const {
    std::FILE* file = std::fopen(("/proc/" + std::to_string(pid_) + "/statm").c_str(), "r");
    long size = 0;
    long resident = 0;
    if (file == nullptr || std::fscanf(file, "%ld %ld", &size, &resident) != 2) fail("statm");
    std::fclose(file);
    return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
  }

 private:
  pid_t pid_ = 0;
  int input_ = -1;
  std::string address_;
};

std::vector<std::string> servers() {
  std::vector<std::string> paths;
  std::string rest = TIFFANY_SERVERS;
  for (std::size_t colon = 0; colon != std::string::npos;) {
    colon = rest.find(':');
    paths.push_back(rest.substr(0, colon));
    rest.erase(0, colon + 1);
  }
  return paths;
}

// The best of the servers.
template <class Measure>
double best(Measure measure) {
  double least = 1e300;
  for (const std::string& path : servers()) least = std::min(least, measure(path));
  return least;
}

// ---- Echo ----

void send_all(int fd, const std::vector<char>& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EINTR) fail("send");
    sent += static_cast<std::size_t>(std::max<ssize_t>(0, n));
  }
}

class Load {
 public:
  Load(const Server& server, std::size_t connections, std::size_t bytes)
      : message_(bytes, 'x'), room_(bytes), epoll_(epoll_create1(0)) {
    for (std::size_t i = 0; i < connections; ++i) {
      fds_.push_back(server.connect());
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.u64 = i;
      epoll_ctl(epoll_, EPOLL_CTL_ADD, fds_.back(), &event);
    }
    received_.resize(connections);
  }
  ~Load() {
    for (const int fd : fds_) close(fd);
    close(epoll_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void run(std::size_t requests) {
    std::size_t asked = 0;
    std::size_t answered = 0;
    std::vector<epoll_event> events(512);
    for (std::size_t i = 0; i < fds_.size() && asked < requests; ++i, ++asked) {
      send_all(fds_[i], message_);
    }
    while (answered < requests) {
      const int n = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 10000);
      if (n <= 0) fail("no answer for ten seconds");
      for (int i = 0; i < n; ++i) {
        const std::size_t one = events[static_cast<std::size_t>(i)].data.u64;
        const ssize_t got = recv(fds_[one], room_.data(), room_.size(), 0);
        if (got <= 0) fail("the server closed a connection");
        received_[one] += static_cast<std::size_t>(got);
        if (received_[one] < message_.size()) continue;
        received_[one] = 0;
        ++answered;
        if (asked == requests) continue;
        ++asked;
        send_all(fds_[one], message_);
      }
    }
  }

 private:
  std::vector<char> message_;
  std::vector<char> room_;
  int epoll_;
  std::vector<int> fds_;
  std::vector<std::size_t> received_;
};

double echo(const bench::Suite& suite, std::size_t connections, std::size_t bytes) {
  const std::size_t requests = suite.scale(300'000, 60'000) / (connections == 1 ? 6 : 1);
  return best([&](const std::string& path) {
    const Server server(path, bytes > 1024 ? "tcp-large" : "tcp");
    Load load(server, connections, bytes);
    load.run(2 * connections);  // the server accepts, and gets what memory it needs
    const double before = server.cpu();
    load.run(requests);
    return 1e6 * (server.cpu() - before) / static_cast<double>(requests);
  });
}

double echo_1(const bench::Suite& suite) { return echo(suite, 1, 64); }
double echo_100(const bench::Suite& suite) { return echo(suite, 100, 64); }
double echo_1000(const bench::Suite& suite) { return echo(suite, 1000, 64); }
double echo_5000(const bench::Suite& suite) { return echo(suite, 5000, 64); }
double echo_16k_100(const bench::Suite& suite) { return echo(suite, 100, 16384); }

double uds_ping_pong(const bench::Suite& suite) {
  const std::size_t requests = suite.scale(50'000, 10'000);
  return best([&](const std::string& path) {
    const Server server(path, "unix");
    Load load(server, 1, 64);
    load.run(100);
    const auto before = std::chrono::steady_clock::now();
    load.run(requests);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - before;
    return 1e6 * took.count() / static_cast<double>(requests);
  });
}

double http_hello(const bench::Suite& suite) {
  const std::string seconds = std::to_string(suite.scale(3, 1));
  return best([&](const std::string& path) {
    const Server server(path, "http");
    const double before = server.cpu();
    std::FILE* const wrk =
        popen(("wrk -t1 -c100 -d" + seconds + "s http://127.0.0.1:" + server.address() + "/ 2>&1")
                  .c_str(),
              "r");
    double requests = 0;
    char line[256];
    while (wrk != nullptr && std::fgets(line, sizeof line, wrk) != nullptr) {
      double count = 0;
      if (std::sscanf(line, " %lf requests in", &count) == 1) requests = count;
    }
    if (wrk == nullptr || pclose(wrk) != 0 || requests == 0) fail("wrk");
    return 1e6 * (server.cpu() - before) / requests;
  });
}

double idle_conn_rss(const bench::Suite& suite) {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  // As many as the limit on open files and the ports of one address allow.
  const std::size_t connections =
      std::min<std::size_t>(suite.scale(25'000, 5'000), files.rlim_cur - 200);
  return best([&](const std::string& path) {
    const Server server(path, "tcp");
    Load warm(server, 100, 64);
    warm.run(200);
    const double before = server.memory();
    Load load(server, connections, 64);
    load.run(connections);
    return (server.memory() - before) / static_cast<double>(connections);
  });
}

void allow_many_files() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}
[[maybe_unused]] const int many_files = (allow_many_files(), 0);

using bench::Weight;
const bench::Row rows[] = {
    {"idle_conn_rss", "B", Weight::heavy, idle_conn_rss},
    {"uds_ping_pong", "us", Weight::heavy, uds_ping_pong},
    {"http_hello", "us", Weight::heavy, http_hello},
    {"echo_16k_100", "us", Weight::heavy, echo_16k_100},
    {"echo_5000", "us", Weight::heavy, echo_5000},
    {"echo_1000", "us", Weight::heavy, echo_1000},
    {"echo_100", "us", Weight::heavy, echo_100},
    {"echo_1", "us", Weight::heavy, echo_1},
};

}  // namespace

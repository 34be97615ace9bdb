// The load for every echo server of the bench: starts the server, holds so many connections with one
// request in flight on each, and reports what a request cost the server in processor time.
//
//   echo_load <connections> <bytes> <requests> <server> [arguments]
//
// A server prints its port as the first line, and ends when its standard input is closed. It runs on
// the second core, the load on the first.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

[[noreturn]] void die(const char* what) {
  std::fprintf(stderr, "echo_load: %s: %s\n", what, std::strerror(errno));
  std::exit(1);
}

void run_on(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);  // a machine with one core runs both on it
}

struct Server {
  pid_t pid = 0;
  int input = -1;
  int port = 0;
};

Server start(char** command) {
  int to[2];
  int from[2];
  if (pipe(to) != 0 || pipe(from) != 0) die("pipe");
  const pid_t pid = fork();
  if (pid == 0) {
    run_on(1);
    dup2(to[0], 0);
    dup2(from[1], 1);
    for (const int fd : {to[0], to[1], from[0], from[1]}) close(fd);
    execv(command[0], command);
    die(command[0]);
  }
  close(to[0]);
  close(from[1]);
  std::string line;
  char c = 0;
  while (read(from[0], &c, 1) == 1 && c != '\n') line += c;
  Server server{pid, to[1], std::atoi(line.c_str())};
  if (server.port == 0) die("the server said no port");
  return server;
}

struct Connection {
  int fd;
  std::size_t received = 0;
};

Connection connect_to(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  if (fd < 0) die("socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) die("connect");
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  fcntl(fd, F_SETFL, O_NONBLOCK);
  return Connection{fd};
}

void send_all(int fd, const std::vector<char>& bytes) {
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (n > 0) sent += static_cast<std::size_t>(n);
    if (n < 0 && errno != EAGAIN && errno != EINTR) die("send");
  }
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double cpu_of(pid_t pid) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) {
    std::fprintf(stderr, "usage: echo_load <connections> <bytes> <requests> <server> [args]\n");
    return 2;
  }
  const std::size_t connections = std::strtoull(arguments[1], nullptr, 10);
  const std::size_t bytes = std::strtoull(arguments[2], nullptr, 10);
  const std::size_t requests = std::strtoull(arguments[3], nullptr, 10);
  const rlimit files{20000, 20000};
  setrlimit(RLIMIT_NOFILE, &files);
  const Server server = start(arguments + 4);
  run_on(0);

  const std::vector<char> message(bytes, 'x');
  std::vector<char> room(bytes);
  const int epoll = epoll_create1(0);
  std::vector<Connection> all;
  for (std::size_t i = 0; i < connections; ++i) {
    all.push_back(connect_to(server.port));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    epoll_ctl(epoll, EPOLL_CTL_ADD, all.back().fd, &event);
  }
  // The first round is not counted: it is when the server accepts.
  std::size_t answered = 0;
  std::size_t asked = 0;
  const auto ask = [&](Connection& one) {
    one.received = 0;
    ++asked;
    send_all(one.fd, message);
  };
  double cpu_before = 0;
  auto start_time = std::chrono::steady_clock::now();
  for (Connection& one : all) ask(one);
  std::vector<epoll_event> events(512);
  const std::size_t warm = connections * 2;
  while (answered < requests + warm) {
    const int n = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), 5000);
    if (n == 0) {
      std::fprintf(stderr, "echo_load: no answer for five seconds\n");
      return 1;
    }
    for (int i = 0; i < n; ++i) {
      Connection& one = all[events[static_cast<std::size_t>(i)].data.u64];
      const ssize_t got = recv(one.fd, room.data(), room.size(), 0);
      if (got == 0) {
        std::fprintf(stderr, "echo_load: the server closed a connection\n");
        return 1;
      }
      if (got < 0) continue;
      one.received += static_cast<std::size_t>(got);
      if (one.received < bytes) continue;
      if (++answered == warm) {
        cpu_before = cpu_of(server.pid);
        start_time = std::chrono::steady_clock::now();
      }
      if (asked < requests + warm) ask(one);
    }
  }
  const double cpu = cpu_of(server.pid) - cpu_before;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start_time;
  close(server.input);
  for (const Connection& one : all) close(one.fd);
  int status = 0;
  rusage usage{};
  wait4(server.pid, &status, 0, &usage);
  static_cast<void>(seconds(usage.ru_utime));
  std::printf("cpu_us %.3f wall_us %.3f rss_kib %ld\n",
              1e6 * cpu / static_cast<double>(requests),
              1e6 * took.count() / static_cast<double>(requests), usage.ru_maxrss);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : 1;
}

// 10,000 clients that each read the events of one task, while 1,000 events a second happen.
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "serve/daemon_under_load.hpp"

namespace {

using namespace serve_rows;

constexpr std::size_t kReaders = 10'000;

double wall_now_us() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

// "2026-11-17T09:30:00.123456Z" in us since 1970.
double us_of_utc(const std::string& text) {
  std::tm parts{};
  double seconds = 0;
  const int found = std::sscanf(text.c_str(), "%d-%d-%dT%d:%d:%lfZ", &parts.tm_year, &parts.tm_mon,
                                &parts.tm_mday, &parts.tm_hour, &parts.tm_min, &seconds);
  bench::check(found == 6, "an event has a time");
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  return static_cast<double>(timegm(&parts)) * 1e6 + seconds * 1e6;
}

void allow_many_files() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  bench::check(files.rlim_cur > kReaders + 200, "a process may have 10,200 open files");
}

struct Figures {
  double p99_ms = 0;
  double bytes_each = 0;
};

Figures measure(const bench::Suite& suite) {
  allow_many_files();
  const Scratch scratch;
  Daemon daemon(scratch.path(), {"--connections", "11000"});
  const int control = daemon.connect();
  std::vector<std::string> tasks;
  pipeline(
      control, kReaders, 1024,
      [](std::size_t) { return request_text("POST", "/tasks", R"({"type":"waiting"})"); },
      [&](std::string_view body) { tasks.push_back(text_member(body, "id")); });
  usleep(500'000);
  const double before = daemon.process().memory();
  const int set = epoll_create1(EPOLL_CLOEXEC);
  std::vector<int> fds;
  for (const std::string& task : tasks) {
    fds.push_back(daemon.connect());
    send_whole(fds.back(), request_text("GET", "/pal?task=" + task));
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fds.back();
    epoll_ctl(set, EPOLL_CTL_ADD, fds.back(), &event);
  }
  std::vector<double> delays;
  std::vector<epoll_event> events(512);
  std::vector<char> room(65536);
  std::size_t begun = 0;
  const auto read_events = [&](int wait_ms) {
    const int n = epoll_wait(set, events.data(), static_cast<int>(events.size()), wait_ms);
    for (int i = 0; i < n; ++i) {
      const ssize_t got =
          recv(events[static_cast<std::size_t>(i)].data.fd, room.data(), room.size(), MSG_DONTWAIT);
      bench::check(got > 0, "the daemon keeps its streams");
      const std::string_view text(room.data(), static_cast<std::size_t>(got));
      if (text.find("event: snapshot") != std::string_view::npos) ++begun;
      const double now = wall_now_us();
      for (std::size_t at = 0; (at = text.find("event: pal", at)) != std::string_view::npos; ++at) {
        const std::string when = text_member(text.substr(at), "ts");
        if (!when.empty()) delays.push_back((now - us_of_utc(when)) / 1e3);
      }
    }
  };
  const auto patience = Clock::now() + std::chrono::seconds(30);
  while (begun < kReaders && Clock::now() < patience) read_events(100);
  bench::check(begun == kReaders, "all streams have begun");
  Figures figures;
  figures.bytes_each = (daemon.process().memory() - before) / static_cast<double>(kReaders);
  delays.clear();
  const std::size_t count = suite.scale(10'000, 3'000);
  const auto start = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    while (Clock::now() < start + std::chrono::milliseconds(1) * i) read_events(0);
    send_whole(control, request_text("POST", "/tasks/" + tasks[(i * 7919) % kReaders] + "/signal",
                                     R"({"name":"news","value":1})"));
    while (recv(control, room.data(), room.size(), MSG_DONTWAIT) > 0) {
    }
  }
  const auto last = Clock::now() + std::chrono::seconds(5);
  while (delays.size() < count && Clock::now() < last) read_events(50);
  bench::check(delays.size() >= count, "each event was read");
  figures.p99_ms = at_part(delays, 0.99);
  for (const int fd : fds) close(fd);
  close(control);
  close(set);
  return figures;
}

double sse_p99(const bench::Suite& suite) { return measure(suite).p99_ms; }
double sse_rss(const bench::Suite& suite) { return measure(suite).bytes_each; }

const bench::Row p99("sse_10k_p99", "ms", bench::Weight::heavy, sse_p99);
const bench::Row memory("sse_10k_rss", "B", bench::Weight::heavy, sse_rss);

}  // namespace

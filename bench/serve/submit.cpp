// Submitting: how many tasks a second, and how soon their code begins.
#include <sys/epoll.h>

#include "serve/daemon_under_load.hpp"

namespace {

using namespace serve_rows;

const std::string kTrivial = request_text("POST", "/tasks", R"({"type":"trivial"})");

// From one client that sends ahead.
double submit_pipelined(const bench::Suite& suite) {
  const std::size_t count = suite.scale(80'000, 30'000);
  const Scratch scratch;
  const Daemon daemon(scratch.path());
  const int fd = daemon.connect();
  pipeline(fd, 1000, 512, kTrivial);
  const auto start = Clock::now();
  pipeline(fd, count, 1024, kTrivial);
  const double rate = static_cast<double>(count) / seconds_since(start);
  close(fd);
  return rate;
}

// 64 connections, each with one request at a time.
double submit_64(const bench::Suite& suite) {
  constexpr std::size_t kConnections = 64;
  const std::size_t count = suite.scale(60'000, 20'000);
  const Scratch scratch;
  const Daemon daemon(scratch.path());
  const int set = epoll_create1(EPOLL_CLOEXEC);
  std::vector<int> fds;
  std::vector<Answers> answers(kConnections);
  for (std::size_t i = 0; i < kConnections; ++i) {
    fds.push_back(daemon.connect());
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = i;
    epoll_ctl(set, EPOLL_CTL_ADD, fds[i], &event);
  }
  const auto run = [&](std::size_t wanted) {
    std::size_t asked = 0;
    std::size_t answered = 0;
    for (; asked < kConnections; ++asked) send_whole(fds[asked], kTrivial);
    while (answered < wanted) {
      epoll_event events[kConnections];
      const int n = epoll_wait(set, events, kConnections, 30'000);
      bench::check(n > 0, "the daemon goes on");
      for (int i = 0; i < n; ++i) {
        const std::size_t one = events[i].data.u64;
        char room[8192];
        const ssize_t got = recv(fds[one], room, sizeof room, 0);
        bench::check(got > 0, "the daemon answers");
        answers[one].add(room, static_cast<std::size_t>(got));
        int status = 0;
        for (std::string_view body; answers[one].take(status, body);) {
          bench::check(status == 201, "a task is made");
          ++answered;
          if (asked < wanted) {
            ++asked;
            send_whole(fds[one], kTrivial);
          }
        }
      }
    }
  };
  run(1000);
  const auto start = Clock::now();
  run(count);
  const double rate = static_cast<double>(count) / seconds_since(start);
  for (const int fd : fds) close(fd);
  close(set);
  return rate;
}

// At 1,000 a second, from sending the request to the first line of the code, as the code saw it.
double submit_start_p99(const bench::Suite& suite) {
  const std::size_t count = suite.scale(5'000, 2'000);
  const Scratch scratch;
  const Daemon daemon(scratch.path());
  const int fd = daemon.connect();
  pipeline(fd, 200, 1, kTrivial);
  const auto start = Clock::now();
  Answers answers;
  std::size_t answered = 0;
  const auto take_answers = [&](int flags) {
    char room[65536];
    const ssize_t n = recv(fd, room, sizeof room, flags);
    if (n <= 0) return;
    answers.add(room, static_cast<std::size_t>(n));
    int status = 0;
    for (std::string_view body; answers.take(status, body);) {
      bench::check(status == 201, "a task is made");
      ++answered;
    }
  };
  for (std::size_t i = 0; i < count; ++i) {
    while (Clock::now() < start + std::chrono::milliseconds(1) * i) {
      pollfd one{fd, POLLIN, 0};
      const timespec wait{0, 100'000};
      if (ppoll(&one, 1, &wait, nullptr) > 0) take_answers(MSG_DONTWAIT);
    }
    const auto now =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch());
    send_whole(fd, request_text("POST", "/tasks",
                                R"({"type":"stopwatch","arguments":[)" +
                                    std::to_string(now.count()) + "]}"));
  }
  while (answered < count) take_answers(0);
  std::vector<double> all;
  for (std::string after;;) {
    const std::string page =
        ask(fd, request_text("GET", "/tasks?type=stopwatch&limit=1000" +
                                        (after.empty() ? "" : "&after=" + after)));
    for (std::size_t at = 0; (at = page.find("\"result\":", at)) != std::string::npos; ++at) {
      all.push_back(std::atof(page.c_str() + at + 9) / 1e3);
    }
    after = text_member(page, "next");
    if (after.empty()) break;
  }
  bench::check(all.size() >= count * 99 / 100, "the tasks have ended");
  close(fd);
  return at_part(all, 0.99);
}

const bench::Row pipelined("submit_pipelined", "tasks/s", bench::Weight::heavy, submit_pipelined);
const bench::Row connections("submit_64", "tasks/s", bench::Weight::heavy, submit_64);
const bench::Row start_p99("submit_start_p99", "us", bench::Weight::heavy, submit_start_p99);

}  // namespace

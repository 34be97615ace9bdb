// A daemon with 100,000 live tasks: starting it, and looking at them. And one without any.
#include "serve/daemon_under_load.hpp"

namespace {

using namespace serve_rows;

constexpr std::size_t kLive = 100'000;

// Tasks that wait, made once and kept for the rows and rounds that follow.
std::string data_with_live_tasks() {
  const std::string path = std::string(TIFFANY_SERVE_DATA) + "/live";
  if (std::filesystem::exists(path + "/complete")) return path;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(TIFFANY_SERVE_DATA);
  {
    const Daemon daemon(path);
    const int fd = daemon.connect();
    pipeline(
        fd, kLive, 1024,
        [](std::size_t i) {
          return request_text("POST", "/tasks",
                              R"({"type":"waiting","key":"k)" + std::to_string(i % 2000) + "\"}");
        },
        [](std::string_view) {});
    close(fd);
  }
  std::fclose(std::fopen((path + "/complete").c_str(), "w"));
  return path;
}

// All of them in pages of 1,000, as `tiffany ps` gets them.
double ps_100k(const bench::Suite&) {
  const Daemon daemon(data_with_live_tasks());
  const int fd = daemon.connect();
  double best = 1e300;
  for (int run = 0; run < 3; ++run) {
    std::size_t seen = 0;
    const auto start = Clock::now();
    for (std::string after;;) {
      const std::string page = ask(
          fd, request_text("GET", "/tasks?limit=1000" + (after.empty() ? "" : "&after=" + after)));
      for (std::size_t at = 0; (at = page.find("\"id\":", at)) != std::string::npos; ++at) ++seen;
      after =
          text_member(page.substr(page.size() - std::min<std::size_t>(page.size(), 400)), "next");
      if (after.empty()) break;
    }
    best = std::min(best, seconds_since(start) * 1e3);
    bench::check(seen >= kLive, "all tasks are listed");
  }
  close(fd);
  return best;
}

// 50 of those with one of 2,000 keys, of type and status that all have.
double page_50(const bench::Suite&) {
  const Daemon daemon(data_with_live_tasks());
  const int fd = daemon.connect();
  double worst = 0;
  for (int i = 0; i < 20; ++i) {
    const std::string path =
        "/tasks?type=waiting&status=running&limit=50&key=k" + std::to_string(i * 97);
    const auto start = Clock::now();
    const std::string page = ask(fd, request_text("GET", path));
    worst = std::max(worst, seconds_since(start) * 1e3);
    bench::check(page.find("\"id\":") != std::string::npos, "there are such tasks");
  }
  close(fd);
  return worst;
}

double start_100k(const bench::Suite&) {
  const std::string data = data_with_live_tasks();
  return Daemon(data).start_seconds() * 1e3;
}

double start_empty(const bench::Suite&) {
  const Scratch scratch;
  return Daemon(scratch.path()).start_seconds() * 1e3;
}

double idle_rss(const bench::Suite&) {
  const Scratch scratch;
  Daemon daemon(scratch.path());
  usleep(300'000);
  return daemon.process().memory() / 1e6;
}

// After it has been asked for things once, in two seconds.
double idle_wakes(const bench::Suite&) {
  const Scratch scratch;
  Daemon daemon(scratch.path());
  const int fd = daemon.connect();
  pipeline(fd, 100, 1, request_text("POST", "/tasks", R"({"type":"trivial"})"));
  close(fd);
  sleep(1);
  const long before = daemon.process().wakes();
  sleep(2);
  return static_cast<double>(daemon.process().wakes() - before) / 2;
}

const bench::Row ps("ps_100k", "ms", bench::Weight::heavy, ps_100k);
const bench::Row page("page_50", "ms", bench::Weight::heavy, page_50);
const bench::Row start_live("start_100k", "ms", bench::Weight::heavy, start_100k);
const bench::Row start_new("start_empty", "ms", bench::Weight::heavy, start_empty);
const bench::Row rss("idle_rss", "MB", bench::Weight::heavy, idle_rss);
const bench::Row wakes("idle_wakes", "1/s", bench::Weight::heavy, idle_wakes);

}  // namespace

// The floor: a server that answers one text and reads nothing, and one sync of the disk.
#include <thread>

#include "serve/daemon_under_load.hpp"

namespace {

using namespace serve_rows;

// The better of the two servers of bench/io.
double healthz(const bench::Suite& suite) {
  double best = 1e300;
  for (const char* const path : {TIFFANY_RAW_EPOLL, TIFFANY_RAW_URING}) {
    Measured server({path, "http"});
    const int port = std::atoi(server.said_until("").c_str());
    best = std::min(best, wrk_cost(suite, server, port));
  }
  return best;
}

// What the disk does with 300 bytes that are synced, into a file whose room is there, 1,000 times a
// second: 99 of 100 take no longer. In us. A disk that is asked so seldom answers later than one
// that is kept busy, and a bar of so many medians would be one for the disk and not for the daemon.
double sync_p99(const bench::Suite& suite) {
  const Scratch scratch;
  const int fd = open((scratch.path() + "/file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const std::size_t count = suite.scale(5'000, 2'000);
  const std::string record(300, 'x');
  const std::string room(record.size() * count, '\0');
  bench::check(pwrite(fd, room.data(), room.size(), 0) == static_cast<ssize_t>(room.size()) &&
                   fsync(fd) == 0,
               "there is room");
  std::vector<double> all;
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < count; ++i) {
    std::this_thread::sleep_until(begin + std::chrono::milliseconds(1) * i);
    const auto start = Clock::now();
    const auto at = static_cast<off_t>(i * record.size());
    bench::check(pwrite(fd, record.data(), record.size(), at) > 0 && fdatasync(fd) == 0, "a sync");
    all.push_back(seconds_since(start) * 1e6);
  }
  close(fd);
  return at_part(all, 0.99);
}

const bench::Row health("healthz", "us", bench::Weight::heavy, healthz);
const bench::Row sync_row("submit_start_p99", "us", bench::Weight::heavy, sync_p99);

}  // namespace

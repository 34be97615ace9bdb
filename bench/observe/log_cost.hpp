// What the rows of the log have in common: a file, and what lines cost.
#pragma once

#include <cstddef>
#include <cstdlib>

#include <time.h>
#include <unistd.h>

#include "bench_support.hpp"

namespace bench {

// Gone when it is closed.
class TemporaryFile {
 public:
  TemporaryFile() {
    char name[] = "/tmp/tiffany-bench-log-XXXXXX";
    descriptor_ = mkstemp(name);
    check(descriptor_ >= 0, "a file in /tmp");
    unlink(name);
  }
  ~TemporaryFile() { close(descriptor_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

inline std::size_t lines_of(const Suite& suite) { return suite.quick() ? 50'000 : 400'000; }

struct LogCost {
  double ns_of_caller = 0;      // processor time of this thread, for a line
  double lines_per_second = 0;  // of processor time of all threads, until all lines are written
};

template <class Write, class Flush>
LogCost cost_of_lines(std::size_t count, Write write, Flush flush) {
  const auto process_ns = [] {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
  };
  const double before = process_ns();
  LogCost cost;
  cost.ns_of_caller = cpu_ns_of(write) / static_cast<double>(count);
  flush();
  cost.lines_per_second = static_cast<double>(count) * 1e9 / (process_ns() - before);
  return cost;
}

}  // namespace bench

// What the row `append_sync` does in every program: batches of 8 KiB are appended to a file that
// begins empty, and each is on the disk before the next. Microseconds of the clock on the wall per
// batch: it is the disk that takes them.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "bench_support.hpp"

namespace append_row {

inline constexpr std::size_t kBatch = std::size_t{8} << 10;

inline std::size_t batches(const bench::Suite& suite) { return suite.scale(2000, 300); }

// A name below build/, which is on a disk; /tmp may not be.
class NewFile {
 public:
  NewFile() : path_("build/append-XXXXXX") {
    const int fd = ::mkstemp(path_.data());
    bench::check(fd >= 0, "a file can be made below build/");
    ::close(fd);
  }
  ~NewFile() { ::unlink(path_.c_str()); }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

class Watch {
 public:
  double us() const {
    const auto passed = std::chrono::steady_clock::now() - start_;
    return std::chrono::duration<double, std::micro>(passed).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace append_row

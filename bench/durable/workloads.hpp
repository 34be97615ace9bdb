// What the programs of bench/durable share: how much they do, where on the disk, and their clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <stdlib.h>
#include <sys/vfs.h>

#include "row.hpp"

namespace durable_rows {

// Every task of steps_64 and steps_512 has so many steps; as soon as one has ended another begins.
inline constexpr std::size_t kSteps = 20;
inline std::size_t sequential_steps(const bench::Suite& suite) { return suite.scale(3000, 1000); }
// How many tasks, one after the other, where `at_once` run at a time.
inline std::size_t generations(const bench::Suite& suite, std::size_t at_once) {
  return std::max<std::size_t>(2, suite.scale(200'000, 50'000) / (at_once * kSteps));
}
inline std::size_t many_tasks(const bench::Suite& suite) { return suite.scale(100'000, 20'000); }
inline constexpr std::size_t kStepsOfMany = 3;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  double us() const { return seconds() * 1e6; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// In microseconds.
class Latencies {
 public:
  void add(double us) { all_.push_back(us); }
  double at(double part) {
    bench::check(!all_.empty(), "something was measured");
    std::sort(all_.begin(), all_.end());
    return all_[static_cast<std::size_t>(static_cast<double>(all_.size() - 1) * part)];
  }

 private:
  std::vector<double> all_;
};

// A directory beside the program, which is on a disk unless the whole build is not; gone at the
// end.
class Scratch {
 public:
  Scratch() {
    constexpr long kTmpfs = 0x01021994;
    const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    std::string name = (beside / "scratch-XXXXXX").string();
    bench::check(mkdtemp(name.data()) != nullptr, "a directory beside the program can be made");
    path_ = name;
    struct statfs about{};
    statfs(path_.c_str(), &about);
    bench::warn_if(about.f_type == kTmpfs, "this directory is in memory: syncs cost nothing here");
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

}  // namespace durable_rows

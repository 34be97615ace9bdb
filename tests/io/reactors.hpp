// Every test of this module runs on io_uring and on epoll, and must not tell them apart.
#pragma once

#include <dirent.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <string>

#include "tiffany/io/system_reactor.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany {

inline std::size_t entries_of(const char* path) {
  std::size_t count = 0;
  DIR* const directory = opendir(path);
  while (readdir(directory) != nullptr) ++count;
  closedir(directory);
  return count;
}
inline std::size_t open_descriptors() { return entries_of("/proc/self/fd"); }
inline std::size_t running_threads() { return entries_of("/proc/self/task"); }

class OnEveryReactor : public testing::TestWithParam<ReactorKind> {
 protected:
  void SetUp() override {
    if (GetParam() == ReactorKind::uring && !uring_works()) {
      GTEST_SKIP() << "this kernel does not let us use io_uring";
    }
    descriptors_ = open_descriptors();
  }
  // Nothing may be left open by any test.
  void TearDown() override {
    if (!IsSkipped()) {
      EXPECT_EQ(open_descriptors(), descriptors_);
    }
  }
  Options options() const { return Options().clock(system_reactor(GetParam())); }

  // Runs a task on a scheduler of its own, and gives its outcome.
  template <class F, class... Args>
  auto run(F&& f, Args&&... args) {
    Scheduler scheduler(options());
    auto handle = scheduler.spawn(std::forward<F>(f), std::forward<Args>(args)...);
    scheduler.run();
    EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
    return outcome_of(handle, false);
  }

  // Runs a task again and again, and cancels it after its first slice, its second, and so on, until
  // it ends before that. Whatever happens, nothing may be left in flight.
  template <class F, class... Args>
  void cancel_at_every_step(F f, Args... args) {
    for (std::size_t step = 0;; ++step) {
      SCOPED_TRACE("cancelled after " + std::to_string(step) + " slices");
      ASSERT_LT(step, 2000u);
      Scheduler scheduler(options());
      auto handle = scheduler.spawn(f, args...);
      while (scheduler.slices() < step && !handle.done()) {
        if (!scheduler.step()) scheduler.poll(scheduler.now() + std::chrono::seconds(1));
      }
      const bool over = handle.done();
      handle.cancel("at step " + std::to_string(step));
      scheduler.run();
      EXPECT_TRUE(handle.done());
      EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
      EXPECT_EQ(scheduler.live_tasks(), 0u);
      if (over) return;
    }
  }

 private:
  std::size_t descriptors_ = 0;
};

inline std::string name_of_reactor(const testing::TestParamInfo<ReactorKind>& info) {
  return info.param == ReactorKind::uring ? "uring" : "epoll";
}

#define TIFFANY_ON_EVERY_REACTOR(fixture)                                                      \
  INSTANTIATE_TEST_SUITE_P(, fixture, testing::Values(ReactorKind::uring, ReactorKind::epoll), \
                           name_of_reactor)

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (std::filesystem::temp_directory_path() / "tiffany-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace tiffany

// A directory for a log, and schedulers that come and go over it, as processes do.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>

#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/disk.hpp"
#include "tiffany/wal/scan.hpp"

namespace tiffany {

class DurableWorld : public testing::TestWithParam<wal::Layout> {
 protected:
  DurableWorld() {
    std::string name = (std::filesystem::temp_directory_path() / "tiffany-durable-XXXXXX").string();
    directory_ = mkdtemp(name.data());
  }
  ~DurableWorld() override { std::filesystem::remove_all(directory_); }

  wal::LogOptions log_options() const {
    wal::LogOptions options(directory_ + "/wal");
    options.layout = GetParam();
    options.segment_size = std::size_t{64} << 10;
    options.epoch_time = wall_;
    options.disk = disk_;
    options.codec = codec_;
    if (most_queued_ != 0) options.most_queued = most_queued_;
    return options;
  }

  // One life of a process: opens a host, runs the program, and goes. Without host.close() in the
  // program it goes as in a crash: nothing more is written.
  template <class F>
  void live(F program) {
    Scheduler scheduler(Options().virtual_time());
    Registry types = types_();
    Host host(types, log_options(), host_options);
    auto handle = scheduler.spawn(&DurableWorld::run_program<F>, &program, &host, &recovery);
    while (!handle.done()) {
      if (!scheduler.step() && !scheduler.poll(scheduler.now())) {
        scheduler.run_until(scheduler.now() + std::chrono::hours(1));
      }
    }
    wall_ += scheduler.now().time_since_epoch().count() / 1000;  // time goes on
    const auto outcome = outcome_of(handle, false);
    if (!outcome.ok()) std::rethrow_exception(outcome.error());
  }

  std::function<Registry()> types_;
  HostOptions host_options;
  Recovery recovery;
  std::string directory_;
  std::shared_ptr<wal::Disk> disk_;                 // none: that of the system
  std::shared_ptr<const wal::PayloadCodec> codec_;  // none: values are recorded as they are
  std::size_t most_queued_ = 0;
  std::int64_t wall_ = 0;  // microseconds since 1970 when the next life begins

 private:
  template <class F>
  static Task<void> run_program(F* program, Host* host, Recovery* recovery) {
    *recovery = co_await host->open();
    co_await (*program)(*host);
  }
};

#define TIFFANY_ON_EVERY_LAYOUT(suite)                                                          \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Values(wal::Layout::journal, wal::Layout::files),  \
                           [](const testing::TestParamInfo<wal::Layout>& layout) {              \
                             return layout.param == wal::Layout::journal ? "journal" : "files"; \
                           })

}  // namespace tiffany

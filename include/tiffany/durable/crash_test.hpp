// Durable tasks under crashes, in one process and without a real disk or clock: for tests of your
// own tasks.
//
//   CrashTest test(all_types);                          // a function that gives a Registry
//   test.crash_everywhere(
//       [&] { ledger.clear(); },                        // the world outside, made anew
//       [&](Host& host) -> Task<void> {                 // what the process does, in each of its
//                                                       // lives
//         const Uuid id = co_await host.start_as(kOrder, "order", 7);
//         EXPECT_EQ(co_await host.result<int>(id), 7);
//       },
//       [&] { EXPECT_EQ(ledger.size(), 1) << "crash after slice " << test.crashed_after; });
//
// A process is cut off between two slices of its scheduler, which is wherever something was
// awaited; what was not synced is lost. tear_everywhere() is worse: what was not synced is lost, or
// there, or torn at any byte or page, and so are names of files. Time is virtual, so tasks that
// wait for days take none. Everything can be repeated exactly.
//
// What a dead process still does is the unwinding of its coroutines: destructors run, though nobody
// would see them in the real world. Effects that are counted ask CrashTest::alive() first.
//
// Thread safety: one at a time in a thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "tiffany/core/handle.hpp"
#include "tiffany/core/options.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/durable/host.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/wal/fault_disk.hpp"
#include "tiffany/wal/memory_disk.hpp"

namespace tiffany {

class CrashTest {
 public:
  explicit CrashTest(std::function<Registry()> all_types = {},
                     wal::Layout how = wal::Layout::journal)
      : types(std::move(all_types)), layout(how) {}

  static constexpr std::size_t kToTheEnd = static_cast<std::size_t>(-1);

  // One life of the process: opens a host, runs `program`, a Task<void> of a Host&, and dies when
  // it has ended, or after so many slices. True: it had ended. What it throws is thrown here. Error
  // (Errc::deadlock): it waits for ever.
  template <class F>
  bool live(F program, std::size_t most_slices = kToTheEnd) {
    const Registry registry = types();
    recovery = Recovery();
    const Afterwards buried;
    Host host(registry, log_options(), host_options);
    Scheduler scheduler(Options().virtual_time().turn(1));  // goes first: the program uses the host
    const Handle<void> task =
        scheduler.spawn(&CrashTest::run_program<F>, &program, &host, &recovery);
    return drive(scheduler, task, most_slices);
  }

  // Lets the program live undisturbed once. Then, for each slice of that life, with a new disk: a
  // life that is cut off there, and one more to the end. `before` and `after` are called around
  // each. Gives how many crashes there were.
  template <class Before, class Program, class After>
  std::size_t crash_everywhere(Before before, Program program, After after) {
    return everywhere(std::move(before), std::move(program), std::move(after), 0);
  }
  // The same over a wal::FaultDisk, each slice with so many fates of what was not synced; which of
  // them is `tear`. For a log on a disk: Error (Errc::bad_argument) with a `provider`.
  template <class Before, class Program, class After>
  std::size_t tear_everywhere(Before before, Program program, After after,
                              std::uint64_t tears = 4) {
    require_log();
    return everywhere(std::move(before), std::move(program), std::move(after), tears);
  }

  // False while what a dead process leaves behind is destroyed.
  static bool alive() noexcept { return alive_; }

  wal::LogOptions log_options() const;

  std::function<Registry()> types;
  wal::Layout layout;
  HostOptions host_options;
  std::shared_ptr<wal::MemoryDisk> disk = std::make_shared<wal::MemoryDisk>();
  std::shared_ptr<wal::StoreProvider> provider;    // of another store than a log on `disk`
  std::shared_ptr<const wal::PayloadCodec> codec;  // of the values in the log
  // Of the last life: what was recovered, how many slices it had, and the trace of its scheduler.
  Recovery recovery;
  std::size_t slices = 0;
  std::uint64_t trace = 0;
  // Of crash_everywhere: after how many slices the present trial is cut off.
  std::size_t crashed_after = kToTheEnd;
  // Of tear_everywhere: the disk in the place of `disk`, and which fate of those of a slice.
  std::shared_ptr<wal::FaultDisk> torn_disk;
  std::uint64_t tear = 0;

 private:
  // `tears` zero: over MemoryDisk.
  template <class Before, class Program, class After>
  std::size_t everywhere(Before before, Program program, After after, std::uint64_t tears) {
    crashed_after = kToTheEnd;
    const TornDisk at_the_end{*this};
    const auto trial = [&] {
      disk = std::make_shared<wal::MemoryDisk>();
      if (tears > 0) torn_disk = std::make_shared<wal::FaultDisk>();
      before();
      if (crashed_after != kToTheEnd) live(std::ref(program), crashed_after);
      live(std::ref(program));
      after();
    };
    tear = 0;
    trial();
    const std::size_t all = slices;
    for (crashed_after = 0; crashed_after < all; ++crashed_after) {
      for (tear = 0; tear < std::max<std::uint64_t>(tears, 1); ++tear) trial();
    }
    return all;
  }
  struct TornDisk {
    CrashTest& test;
    ~TornDisk() { test.torn_disk.reset(); }
  };
  void require_log() const;
  void die();

  template <class F>
  static Task<void> run_program(F* program, Host* host, Recovery* recovery) {
    *recovery = co_await host->open();
    co_await (*program)(*host);
  }
  struct Afterwards {
    Afterwards() = default;
    ~Afterwards() { alive_ = true; }
    Afterwards(const Afterwards&) = delete;
    Afterwards& operator=(const Afterwards&) = delete;
  };
  bool drive(Scheduler& scheduler, const Handle<void>& task, std::size_t most_slices);

  static thread_local bool alive_;
};

}  // namespace tiffany

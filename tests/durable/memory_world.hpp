// Lives of a process over a log in memory: each opens a host, runs a program, and is cut off when the program ends, or
// after a number of slices. Deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "durable/memory_disk.hpp"
#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/scan.hpp"

namespace tiffany {

class MemoryWorld {
 public:
  explicit MemoryWorld(wal::Layout layout = wal::Layout::journal) : layout_(layout) {}

  static constexpr std::size_t kToTheEnd = static_cast<std::size_t>(-1);

  // False when it was cut off before the program had ended.
  template <class F>
  bool live(F program, std::size_t most_slices = kToTheEnd) {
    const Registry registry = types();
    Host host(registry, log_options(), host_options);
    Scheduler scheduler(Options().virtual_time());  // goes first: the program uses the host
    auto handle = scheduler.spawn(&MemoryWorld::run_program<F>, &program, &host, &recovery);
    slices = 0;
    up = true;
    for (; !handle.done() && slices < most_slices; ++slices) {
      if (scheduler.step()) continue;
      if (scheduler.armed_timers() == 0) throw std::runtime_error("the program waits for ever");
      scheduler.poll(kEndOfTime);
    }
    trace = scheduler.trace_hash();
    const bool ended = handle.done();
    disk->crash();
    up = false;  // what the scheduler does to end its tasks never happened
    if (ended) {
      const auto outcome = outcome_of(handle, false);
      if (!outcome.ok()) std::rethrow_exception(outcome.error());
    }
    return ended;
  }

  wal::LogOptions log_options() const {
    wal::LogOptions options("wal");
    options.layout = layout_;
    options.segment_size = std::size_t{64} << 10;
    options.disk = disk;
    return options;
  }

  // What the log says of one task, and of all.
  std::vector<std::string> lines(const Uuid& id) const {
    const wal::LogIndex index = wal::scan(*disk, "wal", layout_);
    const wal::TaskLog* const task = index.find(id);
    if (task == nullptr) return {};
    return wal::LineReader(*disk, "wal").read_all(*task);
  }

  template <class F>
  void each_line(F visit) const {
    const wal::LogIndex index = wal::scan(*disk, "wal", layout_);
    for (const auto& task : index.tasks) {
      if (task->id.nil()) continue;  // of the log itself
      for (const std::string& line : wal::LineReader(*disk, "wal").read_all(*task)) {
        visit(task->id, line);
      }
    }
  }

  std::shared_ptr<MemoryDisk> disk = std::make_shared<MemoryDisk>();
  std::function<Registry()> types;
  HostOptions host_options;
  Recovery recovery;
  std::size_t slices = 0;
  std::uint64_t trace = 0;
  static inline bool up = false;

 private:
  template <class F>
  static Task<void> run_program(F* program, Host* host, Recovery* recovery) {
    *recovery = co_await host->open();
    co_await (*program)(*host);
  }

  wal::Layout layout_;
};

}  // namespace tiffany

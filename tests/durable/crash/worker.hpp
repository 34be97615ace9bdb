// One life of the worker of a crash campaign: it opens the log, starts what is not there yet, sends
// signals, keeps promises, and waits for results. Whatever was acknowledged in an earlier life it
// does not do again.
#pragma once

#include <exception>
#include <string>

#include "durable/crash/example_tasks.hpp"
#include "durable/crash/ledger.hpp"
#include "durable/crash/tasks.hpp"

namespace tiffany::crash {

class Setup {
 public:
  Setup(std::string where, wal::Layout how, int count, std::uint64_t number)
      : directory(std::move(where)), layout(how), tasks(count), seed(number) {}
  std::string directory;
  wal::Layout layout;
  int tasks;
  std::uint64_t seed;

  Uuid id(int number) const {
    Random source(seed, "task " + std::to_string(number));
    return Uuid::random(source);
  }
};

class Worker {
 public:
  Worker(const Setup& setup, const Ledger& known, int socket)
      : setup_(setup), known_(known), line_(socket), host_(types(), log_options()) {
    line = &line_;
  }

  Task<void> live() {
    const Recovery recovery = co_await host_.open();
    for (int number = 0; number < setup_.tasks; ++number) co_await tell_of(number);
    line_.tell("O " + std::to_string(recovery.resumed) + " " + std::to_string(recovery.paused) +
               " " + std::to_string(recovery.diverged) + " " +
               std::to_string(recovery.quarantined) + " " + std::to_string(recovery.finished) +
               " " + recovery.text().substr(0, 2000));
    co_await scope([&](Scope& all) -> Task<void> {
      for (int number = 0; number < setup_.tasks; ++number) {
        if (known_.started.count(number) == 0) co_await sleep(200us);
        all.spawn(&Worker::attend, this, number);
      }
      all.spawn(&Worker::compact, this);
      all.spawn(&Worker::nightly, this);
    });
    co_await until_all_ended();
    co_await host_.close();
    line_.tell("D");
  }

 private:
  wal::LogOptions log_options() const {
    wal::LogOptions options(setup_.directory);
    options.layout = setup_.layout;
    options.segment_size = std::size_t{64} << 10;
    if (setup_.seed % 2 == 0) options.codec = std::make_shared<Backwards>();
    return options;
  }
  static Registry types() {
    Registry all = all_types();
    add_example_types(all);
    return all;
  }

  // Children that their parents have left, and runs of the schedule.
  Task<void> until_all_ended() {
    for (;;) {
      Uuid alive;
      const std::vector<DurableInfo> tasks = host_.tasks();
      for (const DurableInfo& info : tasks) {
        const bool ends = info.status <= DurableStatus::queued && info.type != "tiffany.schedule";
        if (ends) alive = info.id;
      }
      if (alive.nil()) co_return;
      try {
        co_await host_.result_json(alive);
      } catch (const Error& e) {
        if (e.code() != Errc::durable_cancelled && e.code() != Errc::unknown_durable) throw;
      }
    }
  }

  // A schedule that starts reports as long as there are tasks, and is counted at its end.
  Task<void> nightly() {
    Schedules schedules(host_);
    if (known_.scheduled < 0) {
      co_await schedules.create("nightly", Schedule("report").every(1s).catch_up(3));
      while (ended_ < setup_.tasks) co_await sleep(10ms);
      co_await schedules.pause("nightly");
      co_await until_all_ended();
      const ScheduleState state = co_await schedules.look("nightly");
      line_.tell("C " + std::to_string(state.runs));
    }
    try {
      if (!schedules.list().empty()) co_await schedules.remove("nightly");
    } catch (const Error& e) {
      if (e.code() != Errc::durable_stopped) throw;  // an earlier life has said so
    }
  }

  Task<void> send_updates(int number, Uuid id) {
    for (int k = 0; k < kSignals; ++k) {
      if (known_.answers.count({number, k}) > 0) continue;
      const Uuid request = Uuid::derived(id, std::to_string(k));
      std::optional<Value> answer;
      try {
        answer = co_await host_.update(id, kPutIn, k, request);
      } catch (const Error& e) {
        if (e.code() != Errc::unknown_durable) throw;  // in the archive: it was answered before
      }
      if (answer) {
        line_.tell("V " + std::to_string(number) + " " + std::to_string(k) + " " +
                   std::to_string(*answer));
      }
    }
  }

  // What the log has of it, or the archive.
  Task<void> tell_of(int number) {
    const Uuid id = setup_.id(number);
    const auto info = host_.info(id);
    std::string found;
    if (info) {
      found = std::string(name_of(info->status)) + " " + info->detail;
    } else {
      try {
        found = "completed " + co_await host_.result_json(id);
      } catch (const Error& e) {
        if (e.code() != Errc::unknown_durable) throw;
        co_return;  // it was not started
      }
    }
    line_.tell("H " + std::to_string(number) + " " + found);
  }

  Task<void> compact() {
    while (ended_ < setup_.tasks) {
      co_await sleep(20ms);
      co_await host_.compact();
    }
  }

  Task<void> attend(int number) {
    const std::string name = std::to_string(number);
    const Uuid id = setup_.id(number);
    co_await host_.start_json(kind_of(number), "[" + name + "]", id);
    line_.tell("S " + name);
    const std::string kind = kind_of(number);
    if (kind == "listener" || kind == "rounds") co_await send_signals(number, id);
    if (kind == "cart") co_await send_updates(number, id);
    if (kind == "approved") co_await keep_promise(number, id);
    const std::string result = co_await host_.result_json(id);
    line_.tell("R " + name + " " + result);
    ++ended_;
  }

  Task<void> send_signals(int number, Uuid id) {
    for (int k = 0; k < kSignals; ++k) {
      if (known_.signalled.count({number, k}) > 0) continue;
      co_await sleep(std::chrono::milliseconds((number + k) % 7));
      bool sent = true;
      try {
        co_await host_.signal(id, "mail", k);
      } catch (const Error& e) {
        if (e.code() != Errc::durable_stopped && e.code() != Errc::unknown_durable) throw;
        sent = false;  // it had come before, and the task has ended, or is in the archive
      }
      if (sent) line_.tell("G " + std::to_string(number) + " " + std::to_string(k));
    }
  }

  Task<void> keep_promise(int number, Uuid id) {
    if (known_.kept.count(number) > 0) co_return;
    // As a person would, who has got the mail: the task says in a step that it waits.
    Uuid promise;
    for (;;) {
      const auto info = host_.info(id);
      if (!info || info->status != DurableStatus::running) co_return;
      promise = Uuid::parse(line_.ask("Q " + std::to_string(number))).value_or(Uuid());
      if (!promise.nil()) break;
      co_await sleep(2ms);
    }
    try {
      co_await host_.complete(promise, Value{number} * 7);
    } catch (const Error& e) {
      if (e.code() != Errc::unknown_durable) throw;  // it was kept before
    }
    line_.tell("K " + std::to_string(number));
  }

  const Setup& setup_;
  const Ledger& known_;
  Line line_;
  Host host_;
  int ended_ = 0;
};

// What a new process does. Never returns.
[[noreturn]] inline void work(const Setup& setup, const Ledger& known, int socket) {
  int status = 3;
  try {
    Scheduler scheduler;
    Worker worker(setup, known, socket);
    run_on(scheduler, worker.live());
    status = 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "the worker failed: %s\n", e.what());
  }
  std::fflush(stderr);
  ::_exit(status);
}

}  // namespace tiffany::crash

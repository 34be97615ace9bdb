// Durable tasks with effects that may happen once at most, a ledger of those effects, and a client
// that remembers what it was told. The log is on a disk that a test can damage between two
// processes, or under one.
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/repair.hpp"
#include "wal/fault_disk.hpp"

namespace tiffany::damage {

using namespace std::chrono_literals;
using wal::test::FaultDisk;
using wal::test::Reboot;
using wal::test::WorldEnded;

inline constexpr const char* kDirectory = "wal";
inline constexpr std::int64_t kBegin = 1'763'000'000'000'000;

// What steps have done to the world, by name. It survives every process.
class Ledger {
 public:
  void add(const std::string& effect) { ++times[effect]; }
  // The first that was done twice; empty when none was.
  std::string twice() const {
    for (const auto& [effect, count] : times) {
      if (count > 1) return effect + " was done " + std::to_string(count) + " times";
    }
    return {};
  }
  std::map<std::string, int> times;
};
inline Ledger* ledger = nullptr;

inline Durable<int> ship(Flow& flow, int number) {
  int shipped = -1;
  try {
    shipped = co_await flow.step("ship", StepOptions().at_most_once(), [&]() -> Task<int> {
      ledger->add("ship " + std::to_string(number));
      co_await yield();
      co_return number * 3;
    });
  } catch (const Error& e) {
    if (e.code() != Errc::step_unknown) throw;
  }
  co_return shipped;
}

// Odd ones wait for a signal; every third has a value that lies beside the log.
inline Durable<int> order(Flow& flow, int number) {
  int paid = -1;
  try {
    paid = co_await flow.step("charge", StepOptions().at_most_once(), [&]() -> Task<int> {
      ledger->add("charge " + std::to_string(number));
      co_await yield();
      co_return number;
    });
  } catch (const Error& e) {
    if (e.code() != Errc::step_unknown) throw;
  }
  std::string paper;
  if (number % 3 == 0) {
    paper = co_await flow.step("print", [&] { return std::string(70'000, 'p'); });
  }
  co_await flow.sleep(1min);
  int extra = 0;
  if (number % 2 == 1) extra = co_await flow.signal<int>("extra");
  auto child = co_await flow.spawn<int>("ship", number);
  const int shipped = co_await child;
  co_return paid + 1000 * shipped + 100'000 * extra + static_cast<int>(paper.size() % 7);
}

inline Registry all_types() {
  Registry types;
  types.add("order", 1, order);
  types.add("ship", 1, ship);
  return types;
}

inline Uuid id_of(int number) {
  return Uuid::derived(*Uuid::parse("11111111-2222-4333-8444-555555555555"),
                       "order " + std::to_string(number));
}

// What a client was told: all of this must stay true.
struct Acknowledged {
  std::set<int> started;
  std::set<int> signalled;
  std::map<int, int> results;
};

// One life of a process.
struct Life {
  std::string wrong;                  // something that must never happen
  std::vector<std::string> refusals;  // typed errors, as sentences
  std::optional<Errc> open_refused;
  bool opened = false;
  Recovery recovery;
  // Somebody was told that something is amiss.
  bool said() const {
    return !opened || !refusals.empty() || !recovery.notes.empty() || recovery.quarantined > 0;
  }
};

class World {
 public:
  explicit World(wal::Layout how, int orders = 4) : layout(how), orders_(orders) {}

  wal::LogOptions log_options() const {
    wal::LogOptions options(kDirectory);
    options.layout = layout;
    options.segment_size = 4096;
    options.disk = disk;
    options.epoch_time = wall;
    options.process = 1;
    return options;
  }

  // Runs a Task<void> until it ends, the world does, or after so many slices.
  template <class F>
  std::exception_ptr run(F program, std::size_t most_slices = kToTheEnd) {
    std::exception_ptr error;
    {
      Scheduler scheduler(Options().virtual_time());
      auto handle = scheduler.spawn(&World::call<F>, &program, &error);
      for (std::size_t slices = 0; !handle.done() && !disk->ended() && slices < most_slices;
           ++slices) {
        if (slices == kTooLong) {
          error = std::make_exception_ptr(std::runtime_error("it does not come to an end"));
          break;
        }
        if (!scheduler.step() && !scheduler.poll(scheduler.now())) {
          scheduler.run_until(scheduler.now() + std::chrono::hours(1));
        }
      }
      wall += scheduler.now().time_since_epoch().count() / 1000;
    }
    return error;
  }

  // Opens a host, lets the client do all it wants, and ends without a word; or with one, when
  // `close`.
  Life live(bool close = false, std::size_t most_slices = kToTheEnd, bool known_only = false) {
    Life life;
    const std::exception_ptr error =
        run([&]() -> Task<void> { return one_life(&life, close, known_only); }, most_slices);
    note(life, error);
    return life;
  }

  // What must be true after each life.
  std::string complaint(const Life& life) const {
    if (!life.wrong.empty()) return life.wrong;
    return books.twice();
  }

  wal::Layout layout;
  std::shared_ptr<FaultDisk> disk = std::make_shared<FaultDisk>();
  Ledger books;
  Acknowledged told;
  std::int64_t wall = kBegin;

  static constexpr std::size_t kToTheEnd = static_cast<std::size_t>(-1);
  static constexpr std::size_t kTooLong = 300'000;

  // Everything that a client asks for; it asks again for what it asked for before.
  Task<void> client(Host* host, Life* life, bool known_only, int first) {
    for (int number = first; number < first + orders_; ++number) {
      if (known_only && !host->info(id_of(number))) continue;
      try {
        co_await host->start_as(id_of(number), "order", number);
        told.started.insert(number);
      } catch (const Error& e) {
        life->refusals.push_back(e.what());
      }
    }
    co_await sleep(10min);
    for (int number = first; number < first + orders_; ++number) {
      if (number % 2 == 0 || told.signalled.contains(number)) continue;
      try {
        co_await host->signal(id_of(number), "extra", number);
        told.signalled.insert(number);
      } catch (const Error& e) {
        life->refusals.push_back(e.what());
      }
    }
    co_await sleep(10min);
    for (int number = first; number < first + orders_; ++number) {
      co_await look_at_result(host, life, number, known_only);
    }
  }

 private:
  template <class F>
  static Task<void> call(F* program, std::exception_ptr* error) {
    try {
      co_await (*program)();
    } catch (const std::exception&) {
      *error = std::current_exception();
    }
  }

  Task<void> one_life(Life* life, bool close, bool known_only) {
    ledger = &books;
    const Registry types = all_types();
    Host host(types, log_options());
    life->recovery = co_await host.open();
    life->opened = true;
    co_await client(&host, life, known_only, 1);
    if (close) co_await host.close();
  }

  Task<void> look_at_result(Host* host, Life* life, int number, bool known_only) {
    const std::optional<DurableInfo> info = host->info(id_of(number));
    if (known_only && !info) co_return;  // it was given up, and that was said
    const bool ended =
        info && (info->status == DurableStatus::completed ||
                 info->status == DurableStatus::failed || info->status == DurableStatus::cancelled);
    if (!ended) {
      const bool quiet = life->refusals.empty() && life->recovery.notes.empty();
      if (quiet && told.started.contains(number) &&
          (number % 2 == 0 || told.signalled.contains(number))) {
        life->wrong = "order " + std::to_string(number) + " was acknowledged and does not end" +
                      (info ? ": " + std::string(name_of(info->status)) + " " + info->detail
                            : ": the log does not know it");
      }
      co_return;
    }
    int result = 0;
    try {
      result = co_await host->result<int>(id_of(number));
    } catch (const Error& e) {
      life->refusals.push_back(e.what());
      co_return;
    }
    const auto [known, first] = told.results.emplace(number, result);
    if (!first && known->second != result) {
      life->wrong = "order " + std::to_string(number) + " gave " + std::to_string(known->second) +
                    " before and gives " + std::to_string(result) + " now";
    }
  }

  void note(Life& life, const std::exception_ptr& error) const {
    if (error == nullptr) return;
    try {
      std::rethrow_exception(error);
    } catch (const WorldEnded&) {
    } catch (const Error& e) {
      if (!life.opened) life.open_refused = e.code();
      life.refusals.push_back(e.what());
    } catch (const std::exception& e) {
      life.wrong = std::string("an error without a type: ") + e.what();
    }
  }

  int orders_;
};

}  // namespace tiffany::damage

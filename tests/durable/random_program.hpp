// Programs of durable tasks that are made from a seed: steps, timers, children, promises, signals,
// races, cancels, checkpoints, scopes with a limit, sagas, many children of a type with limits,
// search attributes, updates, children of each kind, tasks that are started; some of them with a
// schedule, a codec and interceptors. What a program does depends on nothing but its seed and what
// comes to it; what comes to it is sent by a driver, which is made from the same seed and can be
// run again after a crash.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "durable/logged_crash_test.hpp"
#include "durable/random_calls.hpp"
#include "tiffany/durable/map_children.hpp"
#include "tiffany/durable/saga.hpp"

namespace tiffany::random_program {

using namespace std::chrono_literals;

// What the steps of one run did, by key: an effect that is applied again is the same effect.
inline std::set<std::string> effects;
// Promises that tasks wait for, by the name that the task gave them.
inline std::map<std::string, Uuid> open_promises;

struct State {
  int round = 0;
  std::string seen;
};
TIFFANY_JSON(State, round, seen)

// One task: `rounds` times some random calls, and a checkpoint between rounds in some of the
// programs.
class Body {
 public:
  Body(Flow& flow, std::uint64_t seed, int depth) : flow_(flow), seed_(seed), depth_(depth) {}

  Durable<std::string> run() {
    state_ = flow_.state(State());
    const bool checkpoints = seed_ % 3 == 0;
    bool cancelled = false;
    try {
      while (state_.round < 3) {
        choices_ = Random(seed_ * 1000 + static_cast<std::uint64_t>(state_.round), "choices");
        const std::uint64_t calls = 1 + choices_.below(5);
        for (std::uint64_t i = 0; i < calls; ++i) co_await call(choices_.below(22));
        ++state_.round;
        if (checkpoints && !left_children_) co_await flow_.checkpoint(state_);
      }
    } catch (const DurableCancelled&) {
      cancelled = true;
    }
    if (cancelled) {
      const auto shield = flow_.shield();
      co_await flow_.step("undo", [](Attempt& attempt) { note(attempt); });
      if (seed_ % 2 == 0) co_await flow_.sleep(1min);
      state_.seen += "undone";
    }
    co_return state_.seen;
  }

 private:
  static void note(Attempt& attempt) {
    if (CrashTest::alive()) effects.insert(attempt.key());
  }
  void see(const std::string& what) { state_.seen += what + " "; }

  Durable<void> call(std::uint64_t kind) {
    const int number = static_cast<int>(choices_.below(100));
    const auto path = flow_.enter("r" + std::to_string(state_.round));
    switch (kind) {
      case 0:
      case 1: {
        const int got = co_await flow_.step("plain", StepOptions().arguments(number),
                                            [number](Attempt& attempt) {
                                              note(attempt);
                                              return number;
                                            });
        see(std::to_string(got));
        break;
      }
      case 2: {
        const int got = co_await flow_.step("slow", [number](Attempt& attempt) -> Task<int> {
          co_await sleep(std::chrono::milliseconds(number));
          note(attempt);
          co_return number;
        });
        see(std::to_string(got));
        break;
      }
      case 3:
        try {
          co_await flow_.step("failing", StepOptions().retry(Retry(2, 1s)), [](Attempt& attempt) {
            note(attempt);
            throw std::runtime_error("fails");
          });
        } catch (const Error& e) {
          see(e.what());
        }
        break;
      case 4:
        co_await flow_.sleep(std::chrono::seconds(number));
        break;
      case 5: {
        see(std::to_string(flow_.random().below(1000)));
        see(flow_.uuid().text().substr(0, 4));
        see(std::to_string(flow_.version("v", 1, 2)));
        break;
      }
      case 6:
        if (depth_ == 0) break;
        co_await children(number);
        break;
      case 7:
        co_await race(number);
        break;
      case 8:
        see(std::to_string(co_await flow_.signal<int>("s")));
        break;
      case 9: {
        auto promise = co_await flow_.promise<int>("p");
        publish(promise.id());
        try {
          see(std::to_string(co_await promise));
        } catch (const Error& e) {
          if (e.code() == Errc::durable_cancelled) throw;
          see(e.what());
        }
        break;
      }
      case 10: {
        auto timer = co_await flow_.timer(std::chrono::seconds(number));
        auto other = co_await flow_.timer(std::chrono::seconds(50));
        const auto first = co_await flow_.race(timer, other);
        see(std::to_string(first.index));
        break;
      }
      case 11:
        co_await steps_at_once(number);
        break;
      case 12:
        co_await signals_at_once(number);
        break;
      case 13:
        co_await in_time(number);
        break;
      case 14:
        try {
          see(co_await run_saga(flow_, booked, number));
        } catch (const StepFailed& e) {
          see(e.what());
        }
        break;
      case 15: {
        if (depth_ == 0) break;
        const std::vector<int> arguments{number, number + 1, number + 2, number + 3};
        try {
          for (const int got : co_await map_children<int>(flow_, 3, "small", arguments)) {
            see(std::to_string(got));
          }
        } catch (const DurableCancelled&) {
          throw;
        } catch (const Error& e) {  // one of them was cancelled
          see(e.what());
          left_children_ = true;
        }
        break;
      }
      case 16:
        flow_.set_attribute("number", number);
        flow_.set_attribute("round", "r" + std::to_string(state_.round));
        break;
      case 17:
        see(co_await adds_updates(flow_, number));
        break;
      case 18:
        see(co_await serves_updates(flow_, number));
        break;
      case 19:
        // A checkpoint is refused while a child is under way.
        if (seed_ % 3 != 0 && depth_ > 0) see(co_await leaves_child(flow_, number));
        break;
      case 20:
        see(co_await starts_task(flow_, number));
        break;
      default:
        co_await flow_.step("once", StepOptions().retry(Retry(3, 1s)), [](Attempt& attempt) {
          if (attempt.number() < 2) throw std::runtime_error("not yet");
          note(attempt);
        });
    }
  }

  Durable<void> children(int number) {
    auto a = co_await flow_.spawn<std::string>("body", seed_ * 31 + 1, depth_ - 1);
    auto b = co_await flow_.spawn<std::string>("body", seed_ * 31 + 2, depth_ - 1);
    if (number % 3 == 0) {
      auto [x, y] = co_await flow_.gather(a, b);
      see(x + y);
    } else {
      const auto first = co_await flow_.race(a, b);
      see(std::to_string(first.index));
      see(co_await (first.index == 0 ? b : a));
      see(co_await (first.index == 0 ? a : b));
    }
  }

  Durable<void> race(int number) {
    std::vector<DurableHandle<int>> all;
    for (int i = 0; i < 3; ++i) {
      all.push_back(co_await flow_.promise<int>("q"));
      publish(all.back().id());
    }
    if (number % 2 == 0) co_await flow_.sleep(std::chrono::seconds(number));
    while (!all.empty()) {
      std::size_t first = 0;
      std::string got;
      try {
        const auto won = co_await flow_.race(all);
        first = won.index;
        got = std::to_string(won.value);
      } catch (const Error& e) {
        if (e.code() == Errc::durable_cancelled) throw;
        while (!all[first].arrived()) ++first;
        got = e.what();
      }
      see(std::to_string(first) + ":" + got);
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }

  static Task<int> at_once(Attempt& attempt, int number) {
    co_await sleep(std::chrono::milliseconds(number * 37 % 100));
    note(attempt);
    if (number % 7 == 0) throw std::runtime_error("seven");
    co_return number;
  }
  static int plain_at_once(Attempt& attempt, int number) {
    note(attempt);
    return number;
  }
  // Steps that were begun, of which one is dropped and one may be left to the end of the task.
  Durable<void> steps_at_once(int number) {
    auto a = co_await flow_.begin_step("at once", at_once, number);
    auto b = co_await flow_.begin_step("at once", at_once, number + 1);
    auto c = co_await flow_.begin_step("plain at once", plain_at_once, number);
    {
      auto dropped = co_await flow_.begin_step("at once", at_once, number + 2);
    }
    auto late = co_await flow_.timer(50ms);
    try {
      const auto won = co_await flow_.race(a, b, late);
      see(std::to_string(won.index));
      auto [x, y, z] = co_await flow_.gather(a, b, c);
      see(std::to_string(x + y + z));
    } catch (const Error& e) {
      if (e.code() == Errc::durable_cancelled) throw;
      see(e.what());
    }
    // A checkpoint is refused while a step is under way.
    co_await flow_.sleep(1s);
  }

  // One of two signals of a name, or a timer; what has come and was not looked at goes back.
  Durable<void> signals_at_once(int number) {
    auto first = co_await flow_.begin_signal<int>("s");
    auto second = co_await flow_.begin_signal<int>("s");
    auto late = co_await flow_.timer(std::chrono::seconds(number));
    auto won = co_await flow_.race(first, second, late);
    see("s" + std::to_string(won.index));
    if (won.index == 0 && number % 2 == 0) see(std::to_string(won.get<0>()));
    co_await flow_.wait_until([&] { return late.arrived(); });
    see(std::to_string(first.arrived() ? 1 : 0) + std::to_string(second.arrived() ? 1 : 0));
  }

  // A wait that the end of a scope cuts off, or not.
  Durable<void> in_time(int number) {
    bool late = false;
    try {
      const auto scope = co_await flow_.scope(std::chrono::seconds(40));
      if (number % 3 == 0) co_await flow_.signal<int>("s");
      if (number % 3 == 1) co_await flow_.sleep(std::chrono::seconds(number));
      if (number % 3 == 2) {
        co_await flow_.step("in time", [number](Attempt& attempt) -> Task<void> {
          co_await sleep(std::chrono::seconds(number));
          note(attempt);
        });
      }
    } catch (const ScopeTimedOut&) {
      late = true;
    }
    see(late ? "late" : "in time");
  }

  static void unbook(Attempt& attempt, int) { note(attempt); }
  static Durable<std::string> booked(Flow& flow, Saga& saga, int number) {
    saga.undo("first", unbook, number);
    co_await flow.step("book", [](Attempt& attempt) { note(attempt); });
    saga.undo("second", unbook, number + 1);
    co_await flow.sleep(std::chrono::seconds(number));
    if (number % 2 == 0) {
      co_await flow.step("cannot", [] { throw NotRetryable("cannot"); });
    }
    co_return "booked";
  }

  void publish(const Uuid& id) {
    if (CrashTest::alive()) open_promises[id.text()] = id;
  }

  Flow& flow_;
  std::uint64_t seed_;
  int depth_;
  State state_;
  Random choices_{0};
  bool left_children_ = false;  // some are under way: a checkpoint would be refused
};

inline Durable<std::string> body(Flow& flow, std::uint64_t seed, int depth) {
  Body task(flow, seed, depth);
  co_return co_await task.run();
}

// Of which few run at a time.
inline Durable<int> small(Flow& flow, int number) {
  co_await flow.sleep(std::chrono::seconds(number % 7));
  co_return co_await flow.step("small", [number] { return number * 2; });
}

inline Registry types() {
  Registry all;
  all.add("body", 1, body);
  all.add("small", 1, small, TypeOptions().at_most(2).rate(4, 10s));
  add_more_types(all);
  return all;
}

// ---- What comes from outside ----

// Waits until everything has ended, and sends nothing.
inline Task<void> watch(Host* host) {
  const std::vector<DurableInfo> tasks = host->tasks();
  for (const DurableInfo& info : tasks) {
    try {
      co_await host->result_json(info.id);
    } catch (const Error&) {  // of the task
    }
  }
}

// Keeps promises, sends signals and updates until everything has ended; at some time it may cancel
// one of the roots.
inline Task<void> drive(Host* host, std::vector<Uuid> roots, std::uint64_t seed, bool cancels) {
  Random choices(seed, "driver");
  Timetable timetable(*host, seed);
  if (seed % 4 == 3) co_await timetable.create();
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const std::string arguments = detail::arguments_json(seed * 10 + i, 2);
    co_await host->start_json("body", arguments, roots[i]);
  }
  for (int round = 0;; ++round) {
    if (seed % 4 == 3 && round == 8) co_await timetable.remove();
    bool any = false;
    const std::vector<DurableInfo> tasks = host->tasks();
    for (const DurableInfo& info : tasks) {
      if (info.status != DurableStatus::running && info.status != DurableStatus::queued) continue;
      any = true;
      if (choices.below(3) == 0) {
        const int number = static_cast<int>(choices.below(10));
        spawn(ask_update, host, info.id, number,
              Uuid::derived(info.id, std::to_string(choices.below(20))));
      }
      try {
        if (choices.below(2) == 0) {
          co_await host->signal(info.id, "s", static_cast<int>(choices.below(10)));
        }
        if (cancels && choices.below(40) == 0) co_await host->cancel(info.id, "at random");
      } catch (const Error&) {  // it ended meanwhile
      }
    }
    if (!any) break;
    const std::map<std::string, Uuid> open = open_promises;
    for (const auto& [name, id] : open) {
      if (choices.below(3) == 0) continue;
      try {
        const int value = static_cast<int>(choices.below(100));
        if (value % 10 == 0) {
          co_await host->complete_json(id, "broken", false);
        } else {
          co_await host->complete(id, value);
        }
        open_promises.erase(name);
      } catch (const Error&) {  // its task does not wait for it now
      }
    }
    co_await sleep(std::chrono::seconds(1 + choices.below(20)));
  }
  co_await watch(host);  // what was started at last
}

struct Outcome {
  std::map<std::string, std::string> results;  // of the tasks, by id
  std::map<std::string, std::vector<std::string>> commands;
  std::set<std::string> effects;
  std::uint64_t trace = 0;
  std::size_t slices = 0;
  bool operator==(const Outcome&) const = default;
};

inline std::vector<Uuid> roots_of(std::uint64_t seed) {
  const Uuid base = Uuid::derived(Uuid(), "seed " + std::to_string(seed));
  return {Uuid::derived(base, "a"), Uuid::derived(base, "b")};
}

// What a line says without when and where.
inline std::string said(const std::string& line) {
  const std::size_t from = line.find("\"type\":");
  const std::size_t to = line.rfind(",\"seq\":");
  return line.substr(from, to - from);
}

enum class Outside : std::uint8_t { nothing, sends, cancels };

// One life; to the end, or for a number of slices.
inline Outcome live(LoggedCrashTest& world, std::uint64_t seed, Outside outside,
                    std::size_t slices = LoggedCrashTest::kToTheEnd) {
  world.types = types;
  world.codec = seed % 5 == 1 ? std::make_shared<Backwards>() : nullptr;
  world.host_options.interceptors.clear();
  if (seed % 3 == 1) world.host_options.interceptors.push_back(std::make_shared<Doorman>());
  const std::vector<Uuid> roots = roots_of(seed);
  Outcome outcome;
  std::vector<DurableInfo> tasks;
  world.live(
      [&](Host& host) -> Task<void> {
        if (outside == Outside::nothing) {
          co_await watch(&host);
        } else {
          co_await drive(&host, roots, seed, outside == Outside::cancels);
        }
        tasks = host.tasks();
      },
      slices);
  outcome.trace = world.trace;
  outcome.slices = world.slices;
  outcome.effects = effects;
  for (const DurableInfo& info : tasks) {
    outcome.results[info.id.text()] = std::string(name_of(info.status)) + " " + info.detail;
  }
  world.each_line([&](const Uuid& id, const std::string& line) {
    outcome.commands[id.text()].push_back(said(line));
  });
  return outcome;
}

inline void forget() {
  effects.clear();
  open_promises.clear();
}

// A program that is cut off several times. Gives a sentence when something is wrong.
class Lives {
 public:
  Lives(wal::Layout layout, std::uint64_t seed) : world_(layout), seed_(seed) {}

  std::string run() {
    Random choices(seed_, "crashes");
    forget();
    std::map<std::string, std::vector<std::string>> before;
    for (int life = 0; life < 4; ++life) {
      const bool last = life == 3;
      const Outcome outcome =
          live(world_, seed_, outside(), last ? LoggedCrashTest::kToTheEnd : choices.below(150));
      if (!world_.recovery.notes.empty()) return "recovery says: " + world_.recovery.text();
      for (const auto& [id, lines] : before) {
        const auto now = outcome.commands.find(id);
        if (now == outcome.commands.end()) return "the log of task " + id + " is gone";
        if (!goes_on(lines, now->second)) return "the log of task " + id + " was changed";
      }
      before = outcome.commands;
      if (last) return check_ends(outcome);
    }
    return "";
  }

  // One life to the end. Then the ends of all tasks are taken out of the log, and everything is
  // replayed, with nothing from outside: it must end in the same way, and say the same.
  std::string replay() {
    forget();
    const Outcome recorded = live(world_, seed_, outside());
    if (const std::string wrong = check_ends(recorded); !wrong.empty()) return wrong;
    world_.disk->edit_each([](const std::string& path, std::string& bytes) {
      if (path.ends_with("/sizes")) bytes.clear();  // else the missing ends are damage
      if (!path.ends_with(".wal") || path.ends_with(Uuid().text() + ".wal")) return;
      const std::size_t last = bytes.rfind('\n', bytes.size() - 2);
      bytes.resize(last + 1);
    });
    const std::set<std::string> before = effects;
    const Outcome again = live(world_, seed_, Outside::nothing);
    if (again.results != recorded.results) return "a result is another one";
    for (const auto& [id, lines] : recorded.commands) {
      if (own(lines) != own(again.commands.at(id))) return "the log of " + id + " says otherwise";
    }
    return effects == before ? "" : "there were more effects";
  }

 private:
  Outside outside() const noexcept { return seed_ % 2 == 0 ? Outside::cancels : Outside::sends; }
  // Without what other tasks say in it: parents that end once more cancel their children once more.
  static std::vector<std::string> own(std::vector<std::string> lines) {
    std::erase_if(lines, [](const std::string& line) {
      return line.find(R"("cancel":"its parent ended")") != std::string::npos;
    });
    return lines;
  }
  static bool is_checkpoint(const std::string& line) {
    return line.starts_with(R"("type":"Checkpoint")");
  }
  // With everything that was there before, unless a checkpoint has taken its place.
  static bool goes_on(const std::vector<std::string>& before, const std::vector<std::string>& now) {
    if (now.size() > 1 && is_checkpoint(now[1]) && (before.size() < 2 || before[1] != now[1])) {
      return true;
    }
    return before.size() <= now.size() && std::equal(before.begin(), before.end(), now.begin());
  }
  std::string check_ends(const Outcome& outcome) {
    for (const auto& [id, result] : outcome.results) {
      if (result.starts_with("running")) return "task " + id + " has not ended";
      if (result.starts_with("failed")) return "task " + id + " " + result;
    }
    return "";
  }

  LoggedCrashTest world_;
  std::uint64_t seed_;
};

}  // namespace tiffany::random_program

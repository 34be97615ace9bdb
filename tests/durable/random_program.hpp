// Programs of durable tasks that are made from a seed: steps, timers, children, promises, signals,
// races, cancels, checkpoints, scopes with a limit, sagas, many children of a type with limits,
// search attributes, updates, children of each kind, tasks that are started (random_body.hpp,
// random_calls.hpp); some of them with a schedule, a codec and interceptors. What a program does
// depends on nothing but its seed and what comes to it (random_driver.hpp).
//
// Here is how such a program lives: to its end, or cut off, or replayed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "durable/logged_crash_test.hpp"
#include "durable/random_driver.hpp"

namespace tiffany::random_program {

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

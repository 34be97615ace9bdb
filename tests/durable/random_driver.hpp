// What comes to the tasks of random_program.hpp from outside, made from the same seed. A driver can
// be run again after a crash.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "durable/random_body.hpp"

namespace tiffany::random_program {

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

}  // namespace tiffany::random_program

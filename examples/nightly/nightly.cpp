// A report that is made at half past two each night, in Berlin, as a schedule of durable tasks; and
// a test of it: the process is killed at every moment of a week, and no night has two reports.
#include <tiffany/durable/crash_test.hpp>
#include <tiffany/durable/schedule.hpp>
#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <string>

#include "../outside.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

Outside sent;  // by the key of the letter
constexpr std::uint64_t kNights = 7;

Durable<void> report(Flow& flow, std::string about) {
  co_await flow.step("send", StepOptions().arguments(about),
                     [](Attempt& attempt) { sent.add(attempt.key()); });
}

Registry types() {
  Registry all;
  all.add("report", 1, report);
  add_schedules(all);
  return all;
}

// What our process does whenever it is started: a second create is the same schedule.
Task<void> serve(Host& host) {
  Schedules schedules(host);
  co_await schedules.create("nightly", Schedule("report", "sales")
                                           .cron("30 2 * * *")
                                           .zone("Europe/Berlin")
                                           .overlap(Overlap::queue)
                                           .catch_up(10));
  for (;;) {
    const ScheduleState state = co_await schedules.look("nightly");
    if (state.runs >= kNights) break;
    co_await sleep(6h);
  }
  co_await sleep(1h);  // the last report may be under way
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) return sent.live_in(arguments[1], types(), serve);
  CrashTest test(types);
  int wrong = 0;
  const std::size_t crashes = test.crash_everywhere(
      [] { sent.clear(); }, serve, [&] { wrong += sent.size() == kNights ? 0 : 1; });
  std::printf("killed at %zu moments; another number of letters than %zu: %d times\n", crashes,
              static_cast<std::size_t>(kNights), wrong);
  return wrong == 0 ? 0 : 1;
}

// A trip of three bookings as a saga: when one of them fails, or the trip is cancelled, those
// before it are undone, the last first; and a test of it: the process is killed at every moment.
#include <tiffany/durable/crash_test.hpp>
#include <tiffany/durable/saga.hpp>

#include <algorithm>
#include <cstdio>
#include "../outside.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

Outside booked;  // what the hotel, the airline and the garage keep

void book(const std::string& what) {
  if (what == "car in Venice") throw NotRetryable("there are no cars in Venice");
  booked.add(what);
}
void give_back(std::string what) { booked.remove(what); }  // nothing to do when it is not booked

Durable<void> book_all(Flow& flow, Saga& saga, std::string city) {
  for (const char* const thing : {"room", "flight", "car"}) {
    const std::string what = std::string(thing) + " in " + city;
    // Before the step: a process may die when the booking has been made, and is not yet known.
    saga.undo(std::string("give back the ") + thing, give_back, what);
    co_await flow.step(thing, StepOptions().retry(Retry(3, 1min)), [&] { book(what); });
    co_await flow.sleep(1h);  // there is no hurry
  }
}
Durable<void> trip(Flow& flow, std::string city) { co_await run_saga(flow, book_all, city); }

Registry types() {
  Registry all;
  all.add("trip", 1, trip);
  return all;
}

// Starts a trip, that to London is cancelled in between, and says how it ended.
Task<std::string> travel(Host& host, std::string city) {
  const Uuid id = Uuid::derived(Uuid(), city);
  co_await host.start_as(id, "trip", city);
  if (city == "London") {  // 90 minutes after its start, in whichever life of the process that is
    const std::chrono::microseconds age(host.store().clock().now() - host.info(id)->began);
    co_await sleep(std::max<Duration>(90min - age, 0s));
    co_await host.cancel(id, "it rains");
  }
  try {
    co_await host.result<void>(id);
  } catch (const Error& e) {
    co_return city + ": " + e.what();
  }
  co_return city + ": booked";
}
Task<void> travel_on(Host& host) {  // what a process does that is killed for real
  for (const char* const city : {"Rome", "Venice", "London"})
    std::puts((co_await travel(host, city)).c_str());
}

void kill_everywhere(const std::string& city, std::size_t bookings) {
  CrashTest test(types);
  int wrong = 0;
  std::string end;
  const std::size_t crashes = test.crash_everywhere(
      [] { booked.clear(); }, [&](Host& host) -> Task<void> { end = co_await travel(host, city); },
      [&] { wrong += booked.size() == bookings ? 0 : 1; });
  std::printf("%s\n  killed at %s moments; other bookings than %zu: %d times\n", end.c_str(),
              crashes > 20 ? "all" : "few", bookings, wrong);
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) return booked.live_in(arguments[1], types(), travel_on);
  kill_everywhere("Rome", 3);
  kill_everywhere("Venice", 0);
  kill_everywhere("London", 0);
}

// A trip of three bookings as a saga: when one of them fails, or the trip is cancelled, those
// before it are undone, the last first; and a test of it: the process is killed at every moment.
#include <tiffany/durable/crash_test.hpp>
#include <tiffany/durable/saga.hpp>
#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <set>
#include <stdexcept>
#include <string>

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

std::set<std::string> booked;  // what the hotel, the airline and the garage keep

void book(const std::string& what) {
  if (what == "car in Venice") throw NotRetryable("there are no cars in Venice");
  booked.insert(what);
}
void give_back(std::string what) { booked.erase(what); }  // nothing to do when it is not booked

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

// Starts a trip, cancels it in between perhaps, and says how it ended.
Task<std::string> travel(Host& host, std::string city, bool cancels) {
  const Uuid id = Uuid::derived(Uuid(), city);
  co_await host.start_as(id, "trip", city);
  if (cancels) {
    co_await sleep(90min);
    co_await host.cancel(id, "it rains");
  }
  try {
    co_await host.result<void>(id);
  } catch (const Error& e) {
    co_return e.what();
  }
  co_return "booked";
}

void kill_everywhere(const std::string& city, bool cancels, std::size_t bookings) {
  CrashTest test(types);
  int wrong = 0;
  std::string end;
  const std::size_t crashes = test.crash_everywhere(
      [] { booked.clear(); },
      [&](Host& host) -> Task<void> { end = co_await travel(host, city, cancels); },
      [&] { wrong += booked.size() == bookings ? 0 : 1; });
  std::printf("%s: %s\n  killed at %s moments; other bookings than %zu: %d times\n", city.c_str(),
              end.c_str(), crashes > 20 ? "all" : "few", bookings, wrong);
}

}  // namespace

int main() {
  kill_everywhere("Rome", false, 3);
  kill_everywhere("Venice", false, 0);
  kill_everywhere("London", true, 0);
}

// A subscription that is charged every thirty days until the customer writes, as a durable task;
// and a test of it: the process is killed at every moment of a year, in a second of ours.
#include <tiffany/durable/crash_test.hpp>
#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

// What the bank keeps: how often it was told of each charge, by its key.
std::map<std::string, int> charges;
constexpr std::size_t kEnough = 12;
constexpr SignalName<std::string> stop{"cancel"};

Durable<int> subscription(Flow& flow, std::string customer) {
  int months = flow.state<int>(0);  // of the last checkpoint
  for (;;) {
    co_await flow.step("charge", StepOptions().arguments(customer, months),
                       [](Attempt& attempt) { ++charges[attempt.key()]; });
    ++months;
    const auto letter = co_await flow.signal_within(30 * 24h, stop);
    if (letter) co_return months;
    co_await flow.checkpoint(months);  // the log forgets what was before, and the code begins anew
  }
}

Registry types() {
  Registry all;
  all.add("subscription", 1, subscription);
  return all;
}

// What our process does whenever it is started. The id makes a second start the same task.
Task<void> serve(Host& host) {
  const Uuid id = Uuid::derived(Uuid(), "Ada");
  const DurableRef<int> ada = co_await host.start(StartOptions().id(id), subscription, "Ada");
  while (charges.size() < kEnough) co_await sleep(24h);  // Ada looks at her account every day
  if (ada.info()->status == DurableStatus::running) {
    co_await ada.signal(stop, "no more, thank you");
  }
  const int months = co_await ada.result();
  if (months != static_cast<int>(kEnough)) throw std::runtime_error("not what she paid");
}

}  // namespace

int main() {
  CrashTest test(types);
  int wrong = 0, asked_again = 0;
  const auto look = [&] {
    if (charges.size() != kEnough) ++wrong;
    for (const auto& [key, times] : charges) asked_again += times - 1;
  };
  const std::size_t crashes = test.crash_everywhere([] { charges.clear(); }, serve, look);
  std::printf("killed at %zu moments; the bank had other charges than %zu: %d times\n", crashes,
              kEnough, wrong);
  std::printf("told of a charge again, with a key that it knew: %d times\n", asked_again);
}

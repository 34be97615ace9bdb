// A shopping cart that lives for weeks: updates fill it, a query shows it, a signal checks out, a
// timer reminds, a checkpoint keeps its log short; and its test: it is killed at every moment.
#include <cstdio>
#include <map>
#include <stdexcept>
#include <tiffany/durable/crash_test.hpp>
#include "../outside.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

using Items = std::map<std::string, int>;
constexpr UpdateName<std::string, int> add{"add"};
constexpr QueryName<Items> look{"look"};
Outside letters;  // that were sent, by their key
void send(Attempt& attempt) { letters.add(attempt.key()); }

Durable<int> cart(Flow& flow) {
  Items items = flow.state(Items());
  int changes = 0;
  const auto looks = flow.on_query(look, [&] { return items; });
  const auto fits = [&](const std::string&) {  // what it throws refuses the update
    if (items.size() == 10) throw std::length_error("the cart is full");
  };
  const auto adds = flow.on_update(add, fits, [&](const std::string& item) {
    ++changes;
    return ++items[item];
  });
  {
    auto checkout = co_await flow.begin_signal<std::string>("checkout");
    auto tomorrow = co_await flow.timer(24h);
    co_await flow.wait_until(
        [&] { return checkout.arrived() || tomorrow.arrived() || changes == 2; });
    if (checkout.arrived()) {
      const std::string address = co_await checkout;
      co_await flow.step("ship", StepOptions().arguments(address, items), send);
      co_return static_cast<int>(items.size());
    }
    if (tomorrow.arrived()) co_await flow.step("remind", send);
  }  // a handle that is dropped loses no signal
  co_await flow.checkpoint(items);  // the code begins anew, and its log is short again
  co_return 0;
}

Registry types() {
  Registry all;
  all.add("cart", 1, cart);
  return all;
}
// What the shop does in each of its lives. The ids make a repeated request the same one.
Task<void> shop(Host& host) {
  const Uuid id = Uuid::derived(Uuid(), "Ada");
  const DurableRef<int> ada = co_await host.start(StartOptions().id(id), cart);
  for (int i = 1; i <= 5; ++i) {
    const Uuid request = Uuid::derived(id, std::to_string(i));
    const int count = co_await ada.update(add, i % 2 == 0 ? "tea" : "milk", request);
    if (count != (i + 1) / 2) throw std::runtime_error("it does not add up");
  }
  while (letters.empty()) co_await sleep(1h);
  if (ada.info()->status == DurableStatus::running) {
    if ((co_await ada.ask(look)).at("milk") != 3) throw std::runtime_error("milk is missing");
    co_await host.signal(id, "checkout", std::string("1 Analytical Street"));
  }
  if (co_await ada.result() != 2) throw std::runtime_error("not what was ordered");
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) return letters.live_in(arguments[1], types(), shop);
  CrashTest test(types);
  int wrong = 0;
  const std::size_t crashes = test.crash_everywhere([] { letters.clear(); }, shop,
                                                    [&] { wrong += letters.size() == 2 ? 0 : 1; });
  std::printf("killed at %s moments; other letters than a reminder and a parcel: %d times\n",
              crashes > 50 ? "all" : "few", wrong);
}

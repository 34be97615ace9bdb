// An order that survives: reserve, let a person approve (which may take days), charge, ship; refund
// when that fails. The order is a durable task: every step is recorded in a log, and when its
// process dies the next one goes on where it was.
//
//   order                     the demo: runs the program below as a process, and kills it again and
//                             again
//   order work <directory>    that process
#include "stage.hpp"

#include "tiffany/durable/host.hpp"

struct Order {
  std::string name;
  std::string customer;
  std::string what;
  int euro = 0;
};
TIFFANY_JSON(Order, name, customer, what, euro);

// ---- The services outside: what they did is in their ledger, whatever happens to us ----

// The warehouse and the carrier, and the bank when it gives money back, know idempotency keys: a
// call that they have seen changes nothing.
Task<void> once_by_key(Services& services, std::string who, std::string what, std::string key) {
  if (services.ledger.has(key)) {
    services.say(who + ": asked again, with a key that it knows: nothing to do");
  } else {
    services.ledger.add(who, what, key);
    services.say(who + ": " + what);
  }
  co_await services.reach(who + " has " + what);
}

// The bank does not when it takes money: it does that as often as it is told to.
Task<void> take_money(Services& services, Order order) {
  const std::string what = "taken " + std::to_string(order.euro) + " euro from " + order.customer;
  services.ledger.add("bank", what, "order " + order.name);
  services.say("bank: " + what);
  co_await services.reach("bank has " + what);
}
bool money_was_taken(Services& services, const Order& order) {
  const bool taken = services.ledger.has("order " + order.name);
  services.say(std::string("bank: looks it up: ") + (taken ? "it was" : "it was not"));
  return taken;
}

// ---- The order ----

Durable<void> charge(Flow& flow, Order order) {
  bool unknown = false;
  try {
    co_await flow.step("charge", StepOptions().at_most_once(),
                       [&] { return take_money(Services::the(), order); });
  } catch (const Error& e) {
    if (e.code() != Errc::step_unknown) throw;
    unknown = true;
  }
  if (!unknown) co_return;
  // The process died while the bank was at it. To try again could cost the customer twice.
  const bool taken = co_await flow.step("look it up", [&] {
    Services::the().say(order.name + ": was the money taken? Ask, and do not try again");
    return money_was_taken(Services::the(), order);
  });
  if (!taken) throw std::runtime_error("the bank was not reached");
}

Durable<std::string> order(Flow& flow, Order order) {
  co_await flow.step("reserve", [&](Attempt& attempt) {
    return once_by_key(Services::the(), "warehouse", "reserved " + order.what, attempt.key());
  });

  // A promise that somebody outside keeps, by its id. The timer is on the clock of the wall.
  auto approval = co_await flow.promise<bool>("approval");
  auto three_days = co_await flow.timer(72h);
  // Answered until the guard goes.
  const auto query = flow.on_query(
      "waits for", [&] { return approval.arrived() ? std::string() : approval.id().text(); });
  auto first = co_await flow.race(approval, three_days);
  const bool approved = first.index == 0 && first.get<0>();
  if (!approved) co_return "not approved";

  std::string problem;
  try {
    co_await charge(flow, order);
    co_await flow.step("ship", [&](Attempt& attempt) {
      if (order.what == "a samovar") throw std::runtime_error("the carrier takes no samovars");
      return once_by_key(Services::the(), "carrier", "fetched " + order.what, attempt.key());
    });
  } catch (const Error& e) {
    problem = e.what();
  }
  if (problem.empty()) co_return "shipped";

  co_await flow.step("refund", StepOptions().retry(Retry(5, 10ms)), [&](Attempt& attempt) {
    const std::string what =
        "given " + std::to_string(order.euro) + " euro back to " + order.customer;
    return once_by_key(Services::the(), "bank", what, attempt.key());
  });
  co_return "refunded, because " + problem;
}

// ---- The process ----

// Lets the manager decide, when the order has come so far.
Task<void> manager(Host& host, Services& services, std::string name, Uuid id) {
  std::string promise;
  while (promise.empty()) {
    co_await sleep(1ms);
    if (host.info(id)->status != DurableStatus::running) co_return;
    try {
      promise = host.query(id, "waits for");
    } catch (const Error&) {  // not yet
    }
  }
  services.say(name + ": waits for the manager, three days at most");
  co_await services.reach(name + " waits");
  services.say("manager: approved");
  co_await host.complete(*Uuid::parse(promise), true);
}

Task<void> work(std::string directory) {
  Services services(directory);
  Registry types;
  types.add("order", 1, order);
  Host host(types, wal::LogOptions(directory + "/wal"));
  co_await host.open();
  const std::vector<Order> orders = {{"order A", "Ada", "two teapots", 60},
                                     {"order B", "Bob", "a samovar", 300}};
  for (const Order& each : orders) {
    const Uuid id = Uuid::derived(Uuid(), each.name);  // so that a second start is the same task
    const auto known = host.info(id);
    if (known && known->status == DurableStatus::completed) continue;
    if (!known) services.say(each.name + ": begins");
    co_await host.start_as(id, "order", each);
    co_await scope([&](Scope& s) -> Task<void> {
      s.spawn(manager, std::ref(host), std::ref(services), each.name, id);
      const std::string end = co_await host.result<std::string>(id);
      services.say(each.name + ": " + end);
    });
  }
  co_await host.close();
}

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "work") return run(work(argv[2]));
  return run(demo(argv[0], {
                               {"warehouse has reserved two teapots",
                                "the teapots are reserved, and our log does not know it yet"},
                               {"order A waits", "the manager is away, and so is our machine"},
                               {"bank has taken 60 euro from Ada",
                                "the money is taken, and nobody heard the answer of the bank"},
                               {"carrier has fetched two teapots",
                                "the parcel is on its way, and our log does not know it yet"},
                               {"order B waits", "once more while a person thinks"},
                               {"bank has given 300 euro back to Bob",
                                "the money is back, and our log does not know it yet"},
                           }));
}

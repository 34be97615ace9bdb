// The daemon that the browser tests of the dashboard look at (dashboard/test): tasks that wait,
// fail, try again, have children, and have long histories.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

#include "tiffany/app/app.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

struct Order {
  std::string id;
  int amount = 0;
};
TIFFANY_JSON(Order, id, amount);

constexpr QueryName<std::string> kStage{"stage"};
constexpr SignalName<std::string> kNote{"note"};

Task<std::string> charge(Order order) {
  co_await sleep(100ms);
  co_return "payment-" + order.id;
}

// As in examples/shop, with less patience.
Durable<std::string> order(Flow& flow, Order order) {
  std::string stage = "charging";
  const auto query = flow.on_query(kStage, [&] { return stage; });
  // Code that was changed after tasks had run, for the view that finds out.
  const char* const first = std::getenv("TIFFANY_TEST_TWIST") == nullptr ? "charge" : "bill";
  const std::string payment = co_await flow.step(first, [&] { return charge(order); });
  if (order.amount >= 1000) {
    stage = "waiting for approval";
    auto approved = co_await flow.promise<bool>("approval");
    if (!co_await approved) co_return "order " + order.id + " was not approved";
  }
  stage = "packing";
  co_await flow.sleep(300ms);
  co_return co_await flow.step("ship", [&] { return "order " + order.id + " paid by " + payment; });
}

Durable<int> parcel(Flow& flow, int number) {
  co_await flow.step("weigh", [] {});
  if (number < 0) throw std::runtime_error("parcel " + std::to_string(number) + " burst");
  co_await flow.sleep(1h);
  co_return number;
}
Durable<int> convoy(Flow& flow, int parcels) {
  using Handle = decltype(flow.spawn<int>("parcel", 0))::value_type;
  std::vector<Handle> children;
  for (int i = 0; i < parcels; ++i) children.push_back(co_await flow.spawn<int>("parcel", i));
  auto broken = co_await flow.spawn<int>("parcel", -1);
  co_await flow.sleep(1h);
  co_return parcels;
}

Durable<std::string> refused(Flow& flow, int card) {
  co_await flow.step("look", [] {});
  throw std::runtime_error("card " + std::to_string(card) + " was refused");
}

// Fails twice in each process, and is tried again.
Durable<std::string> flaky(Flow& flow) {
  static int tried = 0;
  co_return co_await flow.step("ring", StepOptions().retry(Retry(5, 10ms)), [] {
    if (++tried % 3 != 0) throw std::runtime_error("nobody answers");
    return std::string("answered");
  });
}

Durable<std::string> survey(Flow& flow) {
  auto answer = co_await flow.promise<std::string>("answer");
  co_return co_await answer;
}

Durable<std::string> listener(Flow& flow) { co_return "heard " + co_await flow.signal(kNote); }

// A record for each.
Durable<int> chatty(Flow& flow, int records) {
  for (int i = 0; i < records; ++i) flow.set_attribute("at", i);
  co_await flow.sleep(1h);
  co_return records;
}

Durable<std::string> strange(Flow& flow) {
  auto answer = co_await flow.promise<bool>("<b>yes</b>");
  co_return co_await answer ? "yes" : "no";
}

// Asks whether a patch is to be applied.
Durable<std::string> patch(Flow& flow) {
  const std::string diff = co_await flow.step("preview", [] {
    return std::string(
        "--- a/model.cpp\n+++ b/model.cpp\n@@ -1,4 +1,5 @@\n #include \"model.hpp\"\n"
        "-bool validate() { return true; }\n+bool validate(const Model& m) {\n"
        "+  return !m.empty();\n+}\n \n int x;\n");
  });
  auto apply = co_await flow.promise<bool>("apply");
  co_return co_await apply ? "applied" : "left alone";
}

// Three tasks of the process that wait for each other's locks.
Task<void> hold(Mutex* mine, Mutex* next) {
  const auto held = co_await mine->lock();
  co_await sleep(1ms);
  const auto both = co_await next->lock();
}
Task<std::string> tie() {
  Mutex a;
  Mutex b;
  Mutex c;
  co_await scope([&](Scope& all) -> Task<void> {
    all.spawn(hold, &a, &b).named("one");
    all.spawn(hold, &b, &c).named("two");
    all.spawn(hold, &c, &a).named("three");
    co_return;
  });
  co_return "untied";
}
Durable<std::string> knot(Flow& flow) {
  co_return co_await flow.step("tie", [] { return tie(); });
}

}  // namespace

int main(int count, char** arguments) {
  App app("shop");
  app.durable("order", 1, order, {"order"}).query("order", kStage);
  app.durable("parcel", 1, parcel, {"number"});
  app.durable("convoy", 1, convoy, {"parcels"});
  app.durable("refused", 1, refused, {"card"});
  app.durable("flaky", 1, flaky);
  app.durable("survey", 1, survey);
  app.durable("listener", 1, listener).signal("listener", kNote);
  app.durable("chatty", 1, chatty, {"records"});
  app.durable("patch", 1, patch);
  app.durable("knot", 1, knot);
  app.durable("<img src=x onerror=alert(1)>", 1, strange);
  return app.main(count, arguments);
}

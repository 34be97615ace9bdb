// A shop that is its own daemon and its own command line.
//
//   shop serve --data /tmp/shop --listen 127.0.0.1:7070 &
//   curl --unix-socket /tmp/shop/tiffany.sock http://shop/api/v1/tasks -d @order.json
//       with {"type":"order","arguments":{"order":{"id":"a7","amount":1200}}} in order.json
//   kill -9 it, start it again: every order goes on where it was
#include "tiffany/app/app.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

struct Order {
  std::string id;
  int amount = 0;
};
TIFFANY_JSON(Order, id, amount);

constexpr QueryName<std::string> kStage{"stage"};

Task<std::string> charge(Order order) {
  co_await sleep(200ms);  // the bank
  co_return "payment-" + order.id;
}

Durable<std::string> order(Flow& flow, Order order) {
  std::string stage = "charging";
  const auto query = flow.on_query(kStage, [&] { return stage; });
  const std::string payment = co_await flow.step("charge", [&] { return charge(order); });
  if (order.amount >= 1000) {
    stage = "waiting for approval";
    auto approved = co_await flow.promise<bool>("approval");
    if (!co_await approved) co_return "order " + order.id + " was not approved";
  }
  stage = "packing";
  co_await flow.sleep(5s);
  stage = "shipping";
  co_return co_await flow.step("ship", [&] { return "order " + order.id + " paid by " + payment; });
}

int main(int count, char** arguments) {
  App app("shop");
  app.durable("order", 1, order, {"order"}).query("order", kStage);
  if (count == 1) return 0;  // the tests run it with arguments
  return app.main(count, arguments);
}

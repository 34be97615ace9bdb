// An App for the tests of the command line: tasks that wait, fail, have children, differ from their
// log, and a process whose tasks wait for one another.
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "tiffany/app/app.hpp"
#include "tiffany/durable/interceptor.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

struct Order {
  std::string id;
  int amount = 0;
};
TIFFANY_JSON(Order, id, amount);

constexpr QueryName<std::string> kStage{"stage"};
constexpr SignalName<std::string> kWord{"word"};

bool is_set(const char* name) { return std::getenv(name) != nullptr; }

Durable<std::string> order(Flow& flow, Order order) {
  std::string stage = "waiting for approval";
  const auto query = flow.on_query(kStage, [&] { return stage; });
  // Another program than the one that wrote the log, when the test says so.
  const char* const step = is_set("DEPOT_DIFFERS") ? "bill" : "charge";
  const std::string payment = co_await flow.step(step, [&] { return "payment-" + order.id; });
  if (order.amount >= 1000) {
    auto approved = co_await flow.promise<bool>("approval");
    if (!co_await approved) co_return "order " + order.id + " was not approved";
  }
  co_return "order " + order.id + " paid by " + payment;
}

Durable<std::string> greet(Flow& flow, std::string who, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += "hello " + who + " ";
  co_return co_await flow.step("greet", [&] { return text; });
}

Durable<void> fails(Flow& flow, std::string why) {
  co_await flow.step("break", [&]() -> int { throw std::runtime_error(why); });
}

Durable<void> mistaken(Flow& flow) {
  co_await flow.step("look", [] {});
  throw std::out_of_range("there is no seventh");
}

Durable<std::string> listens(Flow& flow) {
  auto word = co_await flow.signal(kWord);
  co_return word;
}

constexpr UpdateName<int, int> kAdd{"add"};

// Counts what is added, and takes nothing back, until it hears a word.
Durable<int> counter(Flow& flow) {
  int sum = 0;
  const auto fits = [](int number) {
    if (number < 0) throw std::runtime_error("Nothing is taken back.");
  };
  const auto adds = flow.on_update(kAdd, fits, [&](int number) {
    if (number == 13) throw std::runtime_error("Not thirteen.");
    return sum += number;
  });
  co_await flow.signal(kWord);
  co_return sum;
}

// The first of a process waits for somebody at the other end of a pipe, when the test says so, and
// nothing goes on in the process meanwhile.
void wait_at_gate() {
  static bool passed = false;
  const char* const gate = std::getenv("DEPOT_GATE");
  if (gate == nullptr || std::exchange(passed, true)) return;
  std::ifstream(gate).get();
}

Durable<void> naps(Flow& flow) {
  wait_at_gate();
  co_await flow.sleep(1h);
}

// A step that takes no notice of a cancel.
Durable<void> stays(Flow& flow) {
  const auto stay = []() -> Task<void> { co_await shield(sleep(1h)); };
  co_await flow.step("stay", stay);
}

Durable<std::string> two_decide(Flow& flow) {
  auto first = co_await flow.promise<bool>("buyer");
  auto second = co_await flow.promise<bool>("seller");
  const bool one = co_await first;
  const bool two = co_await second;
  co_return one&& two ? "deal" : "no deal";
}

Durable<void> parent(Flow& flow) {
  auto child = co_await flow.spawn<void>("naps");
  co_await child;
}

// Two tasks of the process that wait for each other.
Task<void> circle(Host&) {
  auto one = std::make_shared<Mutex>();
  auto other = std::make_shared<Mutex>();
  auto grab = [](std::shared_ptr<Mutex> a, std::shared_ptr<Mutex> b) -> Task<void> {
    const auto first = co_await a->lock();
    co_await sleep(1ms);
    const auto second = co_await b->lock();
  };
  auto left = spawn(grab, one, other).named("left");
  auto right = spawn(grab, other, one).named("right");
  co_await left;
  co_await right;
}

// Somebody may not be greeted.
class Guard : public Interceptor {
  void on_start(StartCall& call) override {
    if (call.arguments.find("mallory") != std::string_view::npos) {
      throw std::runtime_error("Mallory is not served here.");
    }
  }
};

int main(int count, char** arguments) {
  App app("depot", "1.2.3");
  app.durable("order", 1, order, {"order"}).query("order", kStage);
  app.durable("greet", 1, greet, {"who", "times"}).tool("greet", "Greets somebody");
  app.durable("fails", 1, fails, {"why"});
  app.durable("listens", 1, listens).signal("listens", kWord);
  app.durable("counter", 1, counter).durable("errs", 1, mistaken);
  app.durable("stays", 1, stays);
  app.durable("naps", 1, naps).durable("two", 1, two_decide).durable("parent", 1, parent);
  app.prompt("explain", "Explains an order.",
             {{"order", "its number"},
              App::PromptArgument("tone", "how", {"friendly", "formal"}).optional()},
             [](const App::Texts& given) {
               if (given.at("order") == "none") throw std::runtime_error("There is no such order.");
               return "Explain order " + given.at("order") + ".";
             });
  app.resource("depot://stock", "What is there.", [](const App::Texts&) { return "7 boxes"; });
  app.resource("depot://shelves/{shelf}", "One shelf.", [](const App::Texts& in) {
    if (in.at("shelf") == "none") throw std::runtime_error("There is no such shelf.");
    return Content::image(std::string(1, '\0') + in.at("shelf"), "application/octet-stream");
  });
  if (is_set("DEPOT_HEADERS")) {
    app.tool_schema("greet", R"({"type":"object","properties":{
      "who":{"type":"string","x-mcp-header":"Who"},
      "times":{"type":"integer","x-mcp-header":"Times"}}})");
  }
  app.intercept(std::make_shared<Guard>());
  if (is_set("DEPOT_CIRCLE")) app.with("circle", circle);
  return app.main(count, arguments);
}

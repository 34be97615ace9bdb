// What a task inherits: its context, the handlers of its effects, its state and its log. The code
// that docs/08-context-and-store.md shows.
#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <string>
#include <vector>

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

void print(const std::string& line) { std::printf("%s\n", line.c_str()); }

// ---- Context

inline constexpr ContextKey<std::string> kUser{"user"};
inline constexpr ContextKey<int> kRetries{"retries"};

Task<void> audit(std::string what) {
  co_await sleep(1ms);
  const int* retries = lookup(kRetries);  // null when nobody set it
  print(ask(kUser) + " did " + what + (retries != nullptr ? ", with retries" : ""));
}

Task<void> serve() {
  co_await with(kUser, "ann", [&]() -> Task<void> {
    spawn(audit, "this");  // ann, also when the block is over by then
    co_await with(kUser, "bob", [&]() -> Task<void> { co_await audit("that"); });
    spawn.with(kRetries, 3)(audit, "the other");  // ann, and one value more
  });
}

// ---- Effects

struct Approve {
  using result = bool;
  std::string what;
  int cost;
};

Task<void> buy(std::string what, int cost) {
  const bool approved = co_await perform<Approve>(what, cost);
  print(what + (approved ? ": bought" : ": left in the shop"));
}

Task<void> shop() {
  auto ask_the_boss = [](const Approve& request) -> Task<bool> {
    co_await sleep(10ms);  // people take their time
    print("the boss looks at " + request.what);
    co_return request.cost < 1000;
  };
  auto petty_cash = [](const Approve& request) -> Task<bool> {
    if (request.cost < 10) co_return true;
    co_return co_await perform<Approve>(request.what, request.cost);  // the next one out
  };
  co_await with_handler<Approve>(ask_the_boss, [&]() -> Task<void> {
    co_await with_handler<Approve>(petty_cash, [&]() -> Task<void> {
      co_await buy("tea", 3);
      co_await spawn(buy, "a chair", 200);
    });
    auto never = [](const Approve&) { return false; };
    co_await spawn.with_handler<Approve>(never)(buy, "a yacht", 5);
  });
}

// ---- Store

inline constexpr StateKey<int> kCount{"count"};

Task<int> count_on(int by) {
  put(kCount, *get(kCount) + by);
  tell("counted to " + std::to_string(*get(kCount)));
  co_return *get(kCount);
}

Task<void> count() {
  put(kCount, 10);
  tell("began at 10");
  auto one = spawn(count_on, 1);  // each begins with 10
  auto two = spawn(count_on, 2);
  put(kCount, 100);  // and sees nothing of this
  const auto counts = co_await gather(two, one);
  print(std::to_string(counts.get<0>()) + " " + std::to_string(counts.get<1>()) + " " +
        std::to_string(*get(kCount)));
  for (const std::string& entry : told()) print(entry);
}

Task<void> program() {
  co_await serve();
  co_await sleep(10ms);
  co_await shop();
  co_await count();
}

}  // namespace

int main() { return run(program(), Options().virtual_time()); }

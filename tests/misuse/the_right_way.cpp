// The same things as in the other files of this directory, written as they should be.
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

Task<int> twice(int n) { co_return 2 * n; }
Task<std::unique_ptr<int>> boxed(int n) { co_return std::make_unique<int>(n); }
Task<std::size_t> length(std::string_view text) { co_return text.size(); }
Task<void> shared(std::shared_ptr<int>) { co_return; }
Task<int*> first_of(std::vector<int>& numbers) { co_return numbers.data(); }

struct Request {
  std::string text;
};
inline constexpr ContextKey<Request> kRequest{"request"};
struct AskUser {
  using result = std::string;
  std::string question;
};
inline constexpr StateKey<int> kCount{"count"};

std::size_t plain(std::vector<int>& numbers, std::string_view text) {
  await(sleep(1ms));
  await(twice(8));
  return numbers.size() + text.size();
}

Task<void> program() {
  Task<int> kept = twice(1);
  co_await std::move(kept);
  co_await twice(2);

  Handle<int> copied = spawn(twice, 3);
  co_await copied;
  Handle<std::unique_ptr<int>> taken = spawn(boxed, 4);
  co_await std::move(taken);

  spawn(length, std::string("owned by the task"));
  spawn(length, borrowed(std::string_view("lives for ever")));
  co_await sleep(1ms);

  std::vector<int> numbers(3);
  co_await first_of(numbers);
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(twice, numbers[0]);
    co_return;
  });
  auto block = [numbers](Scope& s) -> Task<void> {
    s.spawn(twice, numbers[0]);
    co_return;
  };
  co_await scope(block);

  co_await scope(first_success, [&](Scope& s) -> Task<void> {
    s.spawn(twice, 5);
    co_return;
  });
  spawn.after(copied, copied.id())(twice, 6);
  spawn.from(copied)(twice);
  co_await supervise(Supervision(RestartStrategy::one_for_one), [&](Supervisor& s) {
    s.transient("child", shared, std::make_shared<int>(7));
  });
  const Request request{"kept in a variable"};
  auto handler = [numbers](const AskUser&) { return std::string("owns its captures"); };
  co_await with(kRequest, request, [&]() -> Task<void> {
    co_await with_handler<AskUser>(
        handler, [&]() -> Task<void> { co_await perform<AskUser>("made of arguments"); });
  });
  put(kCount, 3);

  auto boxes = channel<std::unique_ptr<int>>(4);
  co_await boxes.sender.send(std::make_unique<int>(8));
  Mutex mutex;
  Condition condition;
  auto guard = co_await mutex.lock();
  const auto holds = [numbers] { return !numbers.empty(); };
  co_await condition.wait(guard, holds);
  co_await spawn_fiber(plain, std::ref(numbers), std::string("owned by the task"));
}

Durable<int> durable(Flow& flow) {
  std::vector<int> kept(3);
  auto step = [kept] { return kept[0]; };
  co_await flow.sleep(std::chrono::seconds(1));
  co_await flow.step("in a variable", step);
  co_return co_await flow.step("a task", [&]() -> Task<int> { co_return co_await twice(kept[0]); });
}

int main() { return run(program()); }

#include <tiffany/tiffany.hpp>

#include <cstdio>

using namespace tiffany;
using namespace std::chrono_literals;

Task<int> worker(int n) {
  co_await sleep(10ms * n);
  co_return n;
}

Task<void> program() {
  auto a = spawn(worker, 1);  // a handle; dropping it is harmless
  auto b = spawn(worker, 2).named("slow");
  auto both = co_await gather(a, b);  // in the order of the arguments
  std::printf("%d and %d\n", both.get<0>(), both.get<1>());

  auto late = co_await within(5ms, worker(3));  // cancelled, and ended, before this returns
  std::printf("%s\n", late.timed_out() ? "timed out" : "in time");

  co_await scope([&](Scope& s) -> Task<void> {  // no task outlives this block
    for (int i = 0; i < 10; ++i) s.spawn(worker, i);
    co_return;
  });
  std::printf("all ten have ended\n");
}

int main() { return run(program()); }

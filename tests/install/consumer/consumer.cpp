// Exits with 0 when the sum that comes back from two tasks is right.
#include <chrono>

#include <tiffany/tiffany.hpp>

using namespace std::chrono_literals;

tiffany::Task<int> worker(int n) {
  co_await tiffany::sleep(1ms * n);
  co_return n;
}

tiffany::Task<int> program() {
  auto one = tiffany::spawn(worker, 1);
  auto two = tiffany::spawn(worker, 2);
  const int sum = co_await one + co_await two;
  co_return sum == 3 ? 0 : 1;
}

int main() { return tiffany::run(program()); }

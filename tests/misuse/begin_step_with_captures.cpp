#include <tiffany/durable/flow.hpp>

tiffany::Durable<int> order(tiffany::Flow& flow) {
  int number = 1;
  auto handle = co_await flow.begin_step("add", [&number] { return number + 1; });
  co_return co_await handle;
}

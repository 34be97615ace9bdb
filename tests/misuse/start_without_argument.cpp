#include <tiffany/durable/host.hpp>
#include <tiffany/tiffany.hpp>

tiffany::Durable<int> order(tiffany::Flow& flow, int number);

tiffany::Task<void> misuse(tiffany::Host& host) {
  const auto ref = co_await host.start(order);
  static_cast<void>(ref);
}

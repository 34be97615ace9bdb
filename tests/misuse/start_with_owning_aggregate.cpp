#include <tiffany/durable/host.hpp>
#include <tiffany/tiffany.hpp>

struct Order {
  int number = 0;
  std::string text;
};
TIFFANY_JSON(Order, number, text)

tiffany::Task<void> misuse(tiffany::Host& host) {
  static_cast<void>(co_await host.start("order", Order{1, "text"}));
}

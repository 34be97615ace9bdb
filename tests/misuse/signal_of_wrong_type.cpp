#include <tiffany/durable/host.hpp>
#include <tiffany/tiffany.hpp>

inline constexpr tiffany::SignalName<int> changed{"changed"};

tiffany::Task<void> misuse(tiffany::Host& host, tiffany::Uuid id) {
  co_await host.signal(id, changed, 1.5);
}

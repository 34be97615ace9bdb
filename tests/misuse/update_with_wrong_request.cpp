#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"

inline constexpr tiffany::UpdateName<int, int> add{"add"};
tiffany::Task<int> misuse(tiffany::Host& host, tiffany::Uuid id) {
  co_return co_await host.update(id, add, 1.5);
}

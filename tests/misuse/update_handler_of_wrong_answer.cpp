#include <string>

#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"

inline constexpr tiffany::UpdateName<int, std::string> add{"add"};
tiffany::Durable<void> misuse(tiffany::Flow& flow) {
  const auto guard = flow.on_update(add, [](int number) { return number; });
  co_await flow.wait_until([] { return true; });
}

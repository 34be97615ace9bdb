#include <vector>

#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"

tiffany::Durable<void> misuse(tiffany::Flow& flow) {
  std::vector<int> numbers(3);
  co_await flow.step("sum", [numbers] { return numbers[0]; });
}

#include <span>
#include <vector>

#include "tiffany/tiffany.hpp"

tiffany::Task<std::size_t> count(std::span<const int> numbers) { co_return numbers.size(); }

tiffany::Task<void> misuse() {
  std::vector<int> gone(3);
  tiffany::spawn(count, std::span<const int>(gone));  // right: spawn(count, gone)
  co_return;
}

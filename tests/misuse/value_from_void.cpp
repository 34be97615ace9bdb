#include "tiffany/tiffany.hpp"

tiffany::Task<void> first() { co_return; }
tiffany::Task<void> second() { co_return; }

tiffany::Task<void> misuse() {
  auto handle = tiffany::spawn(first);
  tiffany::spawn.from(handle)(second);  // right: spawn.after(handle)(second)
  co_return;
}

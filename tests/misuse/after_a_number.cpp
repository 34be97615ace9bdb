#include "tiffany/tiffany.hpp"

tiffany::Task<void> second() { co_return; }

tiffany::Task<void> misuse() {
  tiffany::spawn.after(7)(second);  // right: a handle, or the TaskId
  co_return;
}

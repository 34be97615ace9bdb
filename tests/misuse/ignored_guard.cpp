#include "tiffany/tiffany.hpp"

tiffany::Task<void> misuse(tiffany::Mutex& mutex) {
  co_await mutex.lock();  // right: auto guard = co_await mutex.lock()
}

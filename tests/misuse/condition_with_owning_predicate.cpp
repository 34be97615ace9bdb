#include <string>

#include "tiffany/tiffany.hpp"

tiffany::Task<void> misuse(tiffany::Condition& condition, tiffany::Mutex::Guard& guard) {
  std::string name = "owned";
  co_await condition.wait(guard, [name] { return !name.empty(); });
}

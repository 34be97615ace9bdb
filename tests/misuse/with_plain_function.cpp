// A block that is not a coroutine.
#include <tiffany/tiffany.hpp>

inline constexpr tiffany::ContextKey<int> kDepth{"depth"};

tiffany::Task<void> program() {
  co_await tiffany::with(kDepth, 1, [] {});
}

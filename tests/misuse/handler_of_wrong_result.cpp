// A handler that returns something else than the effect asks for.
#include <tiffany/tiffany.hpp>

struct AskUser {
  using result = std::string;
};

tiffany::Task<void> program() {
  co_await tiffany::with_handler<AskUser>([](const AskUser&) { return 42; },
                                          []() -> tiffany::Task<void> { co_return; });
}

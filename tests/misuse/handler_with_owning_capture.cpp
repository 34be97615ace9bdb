// A handler that owns its captures, in an awaited expression.
#include <tiffany/tiffany.hpp>

struct AskUser {
  using result = std::string;
};

tiffany::Task<void> program(std::string answer) {
  co_await tiffany::with_handler<AskUser>([answer](const AskUser&) { return answer; },
                                          []() -> tiffany::Task<void> { co_return; });
}

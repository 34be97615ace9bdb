// An effect that owns something, made by braces in an awaited expression.
#include <tiffany/tiffany.hpp>

struct AskUser {
  using result = std::string;
  std::string question;
};

tiffany::Task<void> program() { co_await tiffany::perform<AskUser>(AskUser{"why?"}); }

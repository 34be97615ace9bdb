// A value that owns something, made by braces in an awaited expression.
#include <tiffany/tiffany.hpp>

struct Request {
  std::string text;
};
inline constexpr tiffany::ContextKey<Request> kRequest{"request"};

tiffany::Task<void> program() {
  co_await tiffany::with(kRequest, Request{"text"}, []() -> tiffany::Task<void> { co_return; });
}

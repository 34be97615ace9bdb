#include <tiffany/io/offload.hpp>
#include <tiffany/tiffany.hpp>

tiffany::Task<void> misuse(std::string text) {
  static_cast<void>(co_await tiffany::offload([text] { return text.size(); }));
}

#include <string>

#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"

tiffany::Durable<void> misuse(tiffany::Flow& flow, std::string text) {
  co_await flow.serve([text] { return text.empty(); });
}

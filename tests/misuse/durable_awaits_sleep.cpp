#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"

tiffany::Durable<void> misuse(tiffany::Flow&) { co_await tiffany::sleep(std::chrono::seconds(1)); }

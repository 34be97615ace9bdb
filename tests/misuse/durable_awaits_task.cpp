#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"

tiffany::Task<int> outside() { co_return 1; }
tiffany::Durable<int> misuse(tiffany::Flow&) { co_return co_await outside(); }

#include "tiffany/tiffany.hpp"

tiffany::Task<void> misuse() { co_await 42; }

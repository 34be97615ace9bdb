// The operating system as a reactor: see world/system_reactor.hpp.
#pragma once

#include "tiffany/world/system_reactor.hpp"  // IWYU pragma: export

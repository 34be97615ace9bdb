// Source locations as text: the last part of the path and the line, which are the same on every
// compiler and machine. Function names are not: compilers spell those of coroutines differently.
#pragma once

#include <source_location>
#include <string>

namespace tiffany {

std::string site_text(const std::source_location& site);

}  // namespace tiffany

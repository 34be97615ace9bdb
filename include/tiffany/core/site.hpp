// Source locations as text, the same on every compiler and machine.
//
// Places inside of the library are shown without their line: it tells a user nothing, and what a
// program prints should not change when a line of the library moves.
#pragma once

#include <source_location>
#include <string>
#include <string_view>

namespace tiffany {

// The last part of the path, which does not depend on where the sources are kept.
std::string_view file_text(const std::source_location& site);
// Whether it is in one of our own sources.
bool in_library(const std::source_location& site);
// `tour.cpp:40`, or `blocks.hpp` in the library.
std::string site_text(const std::source_location& site);
// The bare name of a function: `fetch`, neither qualified nor with arguments. Compilers spell a
// coroutine's signature each in its way and agree on that much. Empty for lambdas, call operators
// and functions of local classes, on which they do not agree.
std::string_view function_text(const std::source_location& site);
// As above, of a signature as compilers spell it.
std::string_view bare_name(std::string_view signature);

}  // namespace tiffany

// Errors of descriptors: what was refused, and on which socket or file. The type is IoError
// (world/io_error.hpp).
#pragma once

#include <string>
#include <string_view>

#include "tiffany/world/io_error.hpp"  // IWYU pragma: export

namespace tiffany {

// For what is in errno.
[[noreturn]] void throw_io_error(std::string_view what, int fd);
[[noreturn]] void throw_io_error(std::string_view what, std::string_view on);

// Of a descriptor, for errors and dumps: "tcp 127.0.0.1:40112 to 127.0.0.1:80 (fd 7)".
std::string describe_descriptor(int fd);

}  // namespace tiffany

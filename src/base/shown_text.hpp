// Text of users for a terminal: nothing in it moves the cursor, begins a line, or changes the order
// of what is read.
#pragma once

#include <string>
#include <string_view>

namespace tiffany::detail {

// Control characters (also DEL, and those of two bytes), line breaks, and marks that turn the
// direction of text around become escapes as JSON has them (\u001b, \n), so that JSON stays JSON.
// Bytes that are no UTF-8 become \xff.
std::string shown(std::string_view text);

}  // namespace tiffany::detail

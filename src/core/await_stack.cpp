#include "tiffany/core/await_stack.hpp"

#include "tiffany/core/site.hpp"

namespace tiffany {

void append_stack(std::string& out, std::span<const std::source_location> sites) {
  for (const std::source_location& site : sites) {
    // Only the innermost frame of an exception that was thrown early has no line.
    out += site.line() == 0 ? "\n      before its first await" : "\n      at " + site_text(site);
    if (const std::string_view function = function_text(site); !function.empty()) {
      out += " in ";
      out += function;
    }
  }
}

void append_stack(std::string& out, const AwaitStack& stack) {
  append_stack(out, stack.sites());
  if (stack.hidden() > 0) out += "\n      ... and " + std::to_string(stack.hidden()) + " more";
}

}  // namespace tiffany

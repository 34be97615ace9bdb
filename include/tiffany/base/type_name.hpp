// The name of a type as the compiler writes it, for sentences that people read.
//
// GCC and Clang write some names differently, so nothing may depend on the text.
#pragma once

#include <string_view>

namespace tiffany {

template <class T>
constexpr auto type_name() noexcept {
  // `... type_name() [with T = X]` or `... type_name() [T = X]`.
  const std::string_view text = __PRETTY_FUNCTION__;
  const std::size_t begin = text.find("T = ") + 4;
  return text.substr(begin, text.rfind(']') - begin);
}

}  // namespace tiffany

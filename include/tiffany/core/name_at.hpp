// A name given in a call that takes any number of further arguments, together with the place of
// that call: `graph.add("parse", parse_file, path)`.
#pragma once

#include <concepts>
#include <source_location>
#include <string>
#include <string_view>

namespace tiffany {

class NameAt {
 public:
  template <class S>
    requires std::convertible_to<const S&, std::string_view>
  NameAt(const S& name, std::source_location site = std::source_location::current())
      : text(std::string_view(name)), at(site) {}

  std::string text;
  std::source_location at;
};

}  // namespace tiffany

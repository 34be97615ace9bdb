// Addresses with {names} in them, such as shop://orders/{id}: a name stands for one part of a path,
// between two slashes. Internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tiffany/app/app.hpp"

namespace tiffany::app {

// Why it is no address or template; empty: it is one.
std::string wrong_with_uri(std::string_view pattern);
bool is_uri_template(std::string_view pattern) noexcept;
// What stands in the place of the names, decoded; nothing when the address does not fit.
std::optional<App::Texts> match_uri(std::string_view pattern, std::string_view uri);

}  // namespace tiffany::app

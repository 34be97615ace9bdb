#include "app/uri_template.hpp"

#include <set>
#include <utility>

#include "base/utf8.hpp"
#include "tiffany/serve/http.hpp"

namespace tiffany::app {
namespace {

std::string_view take_part(std::string_view& rest) noexcept {
  const std::size_t slash = rest.find('/');
  const std::string_view part = rest.substr(0, slash);
  rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  return part;
}

bool is_variable(std::string_view part) noexcept {
  return part.size() > 2 && part.starts_with('{') && part.ends_with('}') &&
         part.find_first_of("{}", 1) == part.size() - 1;
}

}  // namespace

bool is_uri_template(std::string_view pattern) noexcept {
  return pattern.find('{') != std::string_view::npos;
}

std::string wrong_with_uri(std::string_view pattern) {
  const std::string name = "\"" + std::string(pattern) + "\"";
  const std::size_t scheme = pattern.find("://");
  if (scheme == std::string_view::npos || scheme == 0)
    return name + " has no scheme as shop:// has";
  std::set<std::string_view> seen;
  for (std::string_view rest = pattern.substr(scheme + 3); !rest.empty();) {
    const std::string_view part = take_part(rest);
    if (part.find_first_of("{}") == std::string_view::npos) continue;
    if (!is_variable(part)) return name + " has a {name} that is no whole part between slashes";
    if (!seen.insert(part).second) return name + " has the same {name} twice";
  }
  return "";
}

std::optional<App::Texts> match_uri(std::string_view pattern, std::string_view uri) {
  App::Texts found;
  // Both end with a slash then: "a" is not "a/".
  std::string wanted_text(pattern);
  std::string given_text(uri);
  std::string_view wanted = wanted_text += '/';
  std::string_view given = given_text += '/';
  while (!wanted.empty() && !given.empty()) {
    const std::string_view part = take_part(wanted);
    const std::string_view value = take_part(given);
    if (!is_variable(part)) {
      if (part != value) return std::nullopt;
      continue;
    }
    std::optional<std::string> decoded = http::percent_decoded(value, false);
    if (!decoded || decoded->empty() || !detail::is_utf8(*decoded)) return std::nullopt;
    found.emplace(part.substr(1, part.size() - 2), std::move(*decoded));
  }
  if (!wanted.empty() || !given.empty()) return std::nullopt;
  return found;
}

}  // namespace tiffany::app

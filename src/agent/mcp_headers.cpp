#include "agent/mcp_headers.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "agent/mcp_wire.hpp"
#include "tiffany/base/base64.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent::mcp {
namespace {

constexpr std::string_view kHeaderMember = "x-mcp-header";
constexpr std::size_t kLongestHeaderName = 64;
constexpr std::size_t kLongestHeaderValue = std::size_t{8} << 10;
constexpr std::int64_t kMostExact = (std::int64_t{1} << 53) - 1;

bool is_token_char(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

// Where the header of a schema is found in arguments.
struct HeaderPlace {
  std::vector<std::string> path{};
  std::string header{};
  std::string type{};
};

void find_headers(const Members& schema, std::vector<std::string>& path,
                  std::vector<HeaderPlace>& found) {
  if (schema.has(kHeaderMember)) {
    found.push_back({path, schema.text(kHeaderMember), schema.text("type")});
  }
  if (schema.kind("properties") != JsonKind::object) return;
  const std::string properties = schema.raw("properties");
  JsonReader each(properties);
  each.begin_object();
  for (std::string name; each.next_member(name);) {
    const std::string below(each.raw());
    if (JsonReader(std::string_view(below)).kind() != JsonKind::object) continue;
    path.push_back(name);
    find_headers(Members::parse(below), path, found);
    path.pop_back();
  }
}

std::vector<HeaderPlace> headers_in(std::string_view schema) {
  std::vector<HeaderPlace> found;
  std::vector<std::string> path;
  find_headers(Members::parse(schema), path, found);
  return found;
}

// How often the member is there at all, also where no argument has a fixed place.
std::size_t mentions_of_header(std::string_view json) {
  JsonReader in(json);
  std::size_t count = 0;
  if (in.kind() == JsonKind::object) {
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      const std::string below(in.raw());
      const bool value = JsonReader(std::string_view(below)).kind() == JsonKind::string;
      count += name == kHeaderMember && value ? 1 : mentions_of_header(below);
    }
  } else if (in.kind() == JsonKind::array) {
    in.begin_array();
    while (in.next_element()) count += mentions_of_header(in.raw());
  }
  return count;
}

// Visible characters and blanks between them go as they are, everything else as base64.
std::string header_value(const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return (c >= 0x20 && c <= 0x7e); });
  const bool trimmed = text.empty() || (text.front() != ' ' && text.back() != ' ');
  const bool encoded = text.starts_with("=?base64?") && text.ends_with("?=");
  std::string value = plain && trimmed && !encoded ? text : "=?base64?" + to_base64(text) + "?=";
  if (value.size() > kLongestHeaderValue) {
    throw Error(Errc::bad_argument,
                "An argument that goes as a header is longer than 8 KiB. Make it shorter.");
  }
  return value;
}

}  // namespace

std::string header_problem(std::string_view schema) {
  if (schema.find(kHeaderMember) == std::string_view::npos) return {};
  const std::vector<HeaderPlace> all = headers_in(schema);
  std::set<std::string> names;
  for (const HeaderPlace& each : all) {
    const bool named = !each.header.empty() && each.header.size() <= kLongestHeaderName &&
                       std::all_of(each.header.begin(), each.header.end(), is_token_char);
    if (!named) return "an argument wants a header whose name is none (x-mcp-header).";
    if (!names.insert(lower_case(each.header)).second) {
      return "two arguments want the same header (x-mcp-header).";
    }
    if (each.type != "string" && each.type != "integer" && each.type != "boolean") {
      return "an argument wants a header and is no string, integer or boolean (x-mcp-header).";
    }
  }
  if (mentions_of_header(schema) != all.size()) {
    return "an argument without a fixed place wants a header (x-mcp-header).";
  }
  return {};
}

std::vector<std::pair<std::string, std::string>> argument_headers(std::string_view schema,
                                                                  std::string_view arguments) {
  std::vector<std::pair<std::string, std::string>> headers;
  if (schema.find(kHeaderMember) == std::string_view::npos) return headers;
  for (const HeaderPlace& each : headers_in(schema)) {
    if (each.path.empty()) continue;
    Members at = Members::parse(arguments);
    for (std::size_t i = 0; i + 1 < each.path.size(); ++i) at = at.object(each.path[i]);
    const std::string& name = each.path.back();
    std::string value;
    switch (at.kind(name).value_or(JsonKind::null)) {
      case JsonKind::string:
        value = header_value(at.text(name));
        break;
      case JsonKind::boolean:
        value = at.raw(name);
        break;
      case JsonKind::number: {
        const std::optional<std::int64_t> number = at.integer(name);
        if (!number || *number > kMostExact || *number < -kMostExact) {
          throw Error(Errc::bad_argument, "The argument " + in_a_sentence(name, 80) +
                                              " goes as a header, and is no integer that all "
                                              "programs have exactly.");
        }
        value = std::to_string(*number);
        break;
      }
      default:
        continue;
    }
    headers.emplace_back("mcp-param-" + lower_case(each.header), std::move(value));
  }
  return headers;
}

}  // namespace tiffany::agent::mcp

// The parts of a schema, for the sources that read it and check values against it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/agent/schema.hpp"

namespace tiffany::agent {

enum SchemaType : unsigned {
  kNull = 1,
  kBoolean = 2,
  kInteger = 4,
  kNumber = 8,
  kString = 16,
  kArray = 32,
  kObject = 64,
};
inline constexpr std::pair<std::string_view, unsigned> kSchemaTypes[] = {
    {"null", kNull},     {"boolean", kBoolean}, {"integer", kInteger}, {"number", kNumber},
    {"string", kString}, {"array", kArray},     {"object", kObject}};

struct Schema::Node {
  unsigned types = 0;  // zero: all
  std::map<std::string, Node, std::less<>> properties;
  std::set<std::string, std::less<>> required;
  bool closed = false;               // no other members
  std::vector<Node> additional;      // of the others: one, or none for any
  std::vector<Node> items;           // the same, of elements
  std::vector<std::string> allowed;  // canonical JSON; none: no enum
  std::vector<Node> alternatives;    // anyOf; none: no such keyword
  std::optional<double> minimum;
  std::optional<double> maximum;
  std::optional<std::size_t> shortest;
  std::optional<std::size_t> longest;
  std::optional<std::size_t> fewest;
  std::optional<std::size_t> most;
};

// An Error bad_tool or bad_json for mistakes.
Schema::Node read_schema(std::string_view text, bool known_only = false);

// "/name" of a JSON pointer, short and without control characters.
std::string pointer_part(std::string_view name);
// "/a/b: ", or what stands for the pointer to everything.
std::string at_pointer(const std::string& pointer);

}  // namespace tiffany::agent

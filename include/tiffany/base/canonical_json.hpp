// JSON in the one form that RFC 8785 (JCS) gives it, so that equal values have equal bytes and a
// digest can be made of them.
//
//   canonical_json(R"({ "b": 1.50, "a": "\u0041" })")     // {"a":"A","b":1.5}
//
// Members are sorted by the UTF-16 code units of their names; numbers are doubles, written as
// ECMAScript writes them; strings have the escapes that they must have and no others. To keep JSON
// as somebody wrote it, without white space, use compact_json (base/json_reader.hpp).
#pragma once

#include <string>
#include <string_view>

#include "tiffany/base/json_reader.hpp"

namespace tiffany {

// An Error bad_json for what compact_json refuses: what is no JSON, a name that an object has
// twice, a number that no double comes near, more than `deepest` brackets. And for an integer with
// more digits than a double keeps (9007199254740993): two of them would have the same bytes, and
// RFC 8785 tells to write such numbers as strings. Fractions are rounded, as the RFC has it.
std::string canonical_json(std::string_view text, int deepest = JsonReader::kMaxDepth);

// Whether `a` comes before `b` by UTF-16 code units; both are valid UTF-8. The order of bytes is
// another one: U+1F600 comes before U+FB33 here.
bool utf16_less(std::string_view a, std::string_view b) noexcept;

}  // namespace tiffany

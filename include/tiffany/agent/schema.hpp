// A part of JSON Schema: what arguments and results of tools have to look like.
//
//   const agent::Schema schema = agent::Schema::read(text);      // an Error bad_tool for mistakes
//   for (const std::string& sentence : schema.check(arguments)) ...   // none: it fits
//
// Keywords: type, properties, required, additionalProperties, items, enum, const, anyOf, minimum,
// maximum, minLength, maxLength (in characters), minItems, maxItems; and title, description,
// default, examples, $schema, which say nothing about values. Every other keyword is refused when
// the schema is read, `pattern` and `$ref` among them: one that is not understood would be a check
// that is not made. The schema of a C++ type is made by json_schema (base/json_schema.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace tiffany::agent {

class Schema {
 public:
  // Everything fits.
  Schema();
  static Schema read(std::string_view text);
  // For schemas of others, who check for themselves: keywords that are not known here are not
  // checked, and neither is anything that they would change the meaning of. Of a schema that cannot
  // be read nothing is checked. Never throws for what is in the text.
  static Schema read_known(std::string_view text);
  Schema(const Schema& other) noexcept;
  Schema(Schema&& other) noexcept;
  Schema& operator=(const Schema& other) noexcept;
  Schema& operator=(Schema&& other) noexcept;
  ~Schema();

  // A sentence for each thing that does not fit, with where it is as a JSON pointer (RFC 6901):
  // "/files/0: a string is expected, and a number is there." At most 20. A text that is no JSON, or
  // has a member twice, is a sentence, too.
  std::vector<std::string> check(std::string_view json) const;

  // The schema is for objects, and for nothing else.
  bool only_objects() const noexcept;
  // Of an object: the names of its properties, and of those that must be there.
  std::vector<std::string> properties() const;
  bool is_required(std::string_view property) const noexcept;
  // Whether values of a property are strings, numbers or booleans, and nothing else.
  bool is_scalar(std::string_view property) const noexcept;

  struct Node;  // of the sources alone

 private:
  std::shared_ptr<const Node> root_;
};

// For a schema that is used once.
std::vector<std::string> check_against(std::string_view schema, std::string_view json);

}  // namespace tiffany::agent

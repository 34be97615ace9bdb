#include <algorithm>
#include <cstdint>

#include "agent/schema_node.hpp"
#include "base/shown_text.hpp"
#include "tiffany/base/canonical_json.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany::agent {

std::string pointer_part(std::string_view name) {
  constexpr std::size_t kShown = 80;
  std::string part = "/";
  for (const char c : detail::shown(name.substr(0, kShown))) {
    if (c == '~') {
      part += "~0";
    } else if (c == '/') {
      part += "~1";
    } else {
      part += c;
    }
  }
  return part;
}

std::string at_pointer(const std::string& pointer) {
  return (pointer.empty() ? std::string("(the whole value)") : pointer) + ": ";
}

namespace {

constexpr std::size_t kMostSchemas = 2'000;

class SchemaReader {
 public:
  SchemaReader(std::string_view text, bool known_only) : in_(text), known_only_(known_only) {}
  Schema::Node all() {
    Schema::Node node = any("");
    in_.end();
    return node;
  }

 private:
  [[noreturn]] static void refuse(const std::string& pointer, const std::string& why) {
    throw Error(Errc::bad_tool, "The schema has a mistake at " + at_pointer(pointer) + why);
  }

  Schema::Node any(const std::string& pointer) {  // NOLINT(misc-no-recursion)
    if (++schemas_ > kMostSchemas) refuse(pointer, "it has more than 2000 parts.");
    if (known_only_ && in_.kind() == JsonKind::boolean) {
      in_.raw();
      return {};
    }
    if (in_.kind() != JsonKind::object) refuse(pointer, "a schema is an object.");
    Schema::Node node;
    std::set<std::string> seen;
    in_.begin_object();
    for (std::string name; in_.next_member(name);) {
      if (!seen.insert(name).second) refuse(pointer, "it has '" + name + "' twice.");
      keyword(node, name, pointer);
    }
    if (known_only_) return without_unknown(std::move(node), seen);
    for (const std::string& name : node.required) {
      if (node.closed && !node.properties.contains(name)) {
        refuse(pointer, "'" + name + "' is required, and no property of that name is allowed.");
      }
    }
    return node;
  }

  // A keyword only ever allows less, whatever else is there, but for these.
  static Schema::Node without_unknown(Schema::Node node, const std::set<std::string>& seen) {
    for (const char* const name : {"$ref", "$dynamicRef", "$recursiveRef"}) {
      if (seen.contains(name)) return {};  // replaces the others, in older versions
    }
    if (seen.contains("patternProperties")) {
      node.closed = false;
      node.additional.clear();
    }
    if (seen.contains("prefixItems")) node.items.clear();
    return node;
  }

  void keyword(Schema::Node& node, const std::string& name,  // NOLINT(misc-no-recursion)
               const std::string& pointer) {
    const std::string here = pointer + pointer_part(name);
    if (name == "type") {
      types(node, here);
    } else if (name == "properties") {
      in_.begin_object();
      for (std::string each; in_.next_member(each);) {
        const std::string below = here + pointer_part(each);
        if (node.properties.contains(each)) refuse(below, "it is there twice.");
        node.properties.emplace(each, any(below));
      }
    } else if (name == "required") {
      in_.begin_array();
      while (in_.next_element()) node.required.insert(in_.string());
    } else if (name == "additionalProperties") {
      if (in_.kind() == JsonKind::boolean) {
        node.closed = !in_.boolean();
      } else {
        node.additional.push_back(any(here));
      }
    } else if (name == "items") {
      node.items.push_back(any(here));
    } else if (name == "enum" || name == "const") {
      values(node, name == "enum", here);
    } else if (name == "anyOf") {
      in_.begin_array();
      for (std::size_t i = 0; in_.next_element(); ++i) {
        node.alternatives.push_back(any(here + "/" + std::to_string(i)));
      }
      if (node.alternatives.empty()) refuse(here, "it allows no value.");
    } else if (name == "minimum") {
      node.minimum = in_.number();
    } else if (name == "maximum") {
      node.maximum = in_.number();
    } else if (name == "minLength") {
      node.shortest = count(here);
    } else if (name == "maxLength") {
      node.longest = count(here);
    } else if (name == "minItems") {
      node.fewest = count(here);
    } else if (name == "maxItems") {
      node.most = count(here);
    } else if (name == "title" || name == "description" || name == "default" ||
               name == "examples" || name == "$schema" || known_only_) {
      in_.raw();
    } else {
      refuse(pointer, "'" + detail::shown(name.substr(0, 80)) +
                          "' is a keyword that is not known here, so that nothing would check it.");
    }
  }

  std::size_t count(const std::string& pointer) {
    const std::int64_t number = in_.integer();
    if (number < 0) refuse(pointer, "it is a count, and not negative.");
    return static_cast<std::size_t>(number);
  }

  void types(Schema::Node& node, const std::string& pointer) {
    const auto one = [&] {
      const std::string name = in_.string();
      for (const auto& [known, bit] : kSchemaTypes) {
        if (name == known) {
          node.types |= bit;
          return;
        }
      }
      refuse(pointer, "'" + detail::shown(name.substr(0, 80)) + "' is no type of JSON.");
    };
    if (in_.kind() == JsonKind::string) return one();
    in_.begin_array();
    while (in_.next_element()) one();
    if (node.types == 0) refuse(pointer, "it names no type.");
  }

  void values(Schema::Node& node, bool several, const std::string& pointer) {
    if (!node.allowed.empty()) refuse(pointer, "enum and const are not used together.");
    if (!several) {
      node.allowed.push_back(canonical_json(in_.raw()));
      return;
    }
    in_.begin_array();
    while (in_.next_element()) node.allowed.push_back(canonical_json(in_.raw()));
    if (node.allowed.empty()) refuse(pointer, "it allows no value.");
  }

  JsonReader in_;
  bool known_only_;
  std::size_t schemas_ = 0;
};

}  // namespace

Schema::Node read_schema(std::string_view text, bool known_only) {
  return SchemaReader(text, known_only).all();
}

}  // namespace tiffany::agent

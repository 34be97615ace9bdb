#include "tiffany/agent/schema.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <utility>

#include "agent/schema_node.hpp"
#include "tiffany/base/canonical_json.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kMostSentences = 20;
constexpr std::size_t kMostSteps = 1'000'000;

std::string type_names(unsigned types) {
  std::string names;
  for (const auto& [name, bit] : kSchemaTypes) {
    if ((types & bit) == 0) continue;
    if (!names.empty()) names += " or ";
    names += (bit == kArray || bit == kObject || bit == kInteger ? "an " : "a ");
    names += name;
  }
  return names;
}

class SchemaCheck {
 public:
  SchemaCheck(const JsonReader& in, std::size_t& steps) : in_(in), steps_(steps) {}
  std::vector<std::string> all(const Schema::Node& node) {
    try {
      value(node, "");
      in_.end();
    } catch (const Error& error) {
      sentences_.clear();
      note("", error.what());
    }
    return std::move(sentences_);
  }

 private:
  void note(const std::string& pointer, const std::string& sentence) {
    if (sentences_.size() < kMostSentences) sentences_.push_back(at_pointer(pointer) + sentence);
  }

  static unsigned type_of(JsonKind kind) {
    constexpr unsigned kTypes[] = {kNull, kBoolean, kNumber, kString, kArray, kObject};
    return kTypes[static_cast<std::size_t>(kind)];
  }

  void value(const Schema::Node& node, const std::string& pointer) {  // NOLINT(misc-no-recursion)
    // Alternatives inside of alternatives look at a value again and again.
    if (++steps_ > kMostSteps) {
      throw Error(Errc::bad_tool, "It takes too long to check this against its schema.");
    }
    const JsonKind kind = in_.kind();
    unsigned type = type_of(kind);
    if (kind == JsonKind::number) {
      JsonReader ahead = in_;
      const double number = ahead.number();
      if (number == std::floor(number)) type |= kInteger;
      bounds(node, number, pointer);
    }
    if (node.types != 0 && (node.types & type) == 0) {
      note(pointer, type_names(node.types) + " is expected, and " +
                        type_names(type & ~static_cast<unsigned>(kInteger)) + " is there.");
      in_.raw();
      return;
    }
    if (!node.allowed.empty()) one_of(node, pointer);
    if (!node.alternatives.empty()) any_of(node, pointer);
    switch (kind) {
      case JsonKind::string:
        return string(node, pointer);
      case JsonKind::array:
        return array(node, pointer);
      case JsonKind::object:
        return object(node, pointer);
      default:
        in_.raw();
    }
  }

  void bounds(const Schema::Node& node, double number, const std::string& pointer) {
    if (node.minimum && number < *node.minimum) note(pointer, "the number is too small.");
    if (node.maximum && number > *node.maximum) note(pointer, "the number is too large.");
  }

  void one_of(const Schema::Node& node, const std::string& pointer) {
    JsonReader ahead = in_;
    const std::string_view raw = ahead.raw();
    std::string found(raw);
    try {
      found = canonical_json(raw);
    } catch (const Error&) {  // an integer that no double has, a member twice: in no list
    }
    if (std::find(node.allowed.begin(), node.allowed.end(), found) != node.allowed.end()) return;
    std::string list;
    for (std::size_t i = 0; i < std::min<std::size_t>(node.allowed.size(), 10); ++i) {
      list += (i == 0 ? "" : ", ") + node.allowed[i];
    }
    note(pointer, "it is none of " + list + (node.allowed.size() > 10 ? ", ..." : "") + ".");
  }

  void any_of(const Schema::Node& node, const std::string& pointer) {  // NOLINT(misc-no-recursion)
    for (const Schema::Node& each : node.alternatives) {
      SchemaCheck alone(in_, steps_);
      alone.value(each, pointer);
      if (alone.sentences_.empty()) return;
    }
    note(pointer, "it fits to none of the " + std::to_string(node.alternatives.size()) +
                      " alternatives of the schema.");
  }

  void string(const Schema::Node& node, const std::string& pointer) {
    const std::string text = in_.string();
    const auto characters =
        static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
          return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
        }));
    if (node.shortest && characters < *node.shortest) {
      note(pointer, "the text has " + std::to_string(characters) + " characters, and at least " +
                        std::to_string(*node.shortest) + " are needed.");
    }
    if (node.longest && characters > *node.longest) {
      note(pointer, "the text has " + std::to_string(characters) + " characters, and at most " +
                        std::to_string(*node.longest) + " are allowed.");
    }
  }

  void array(const Schema::Node& node, const std::string& pointer) {  // NOLINT(misc-no-recursion)
    std::size_t count = 0;
    in_.begin_array();
    for (; in_.next_element(); ++count) {
      if (node.items.empty()) {
        in_.raw();
      } else {
        value(node.items.front(), pointer + "/" + std::to_string(count));
      }
    }
    if (node.fewest && count < *node.fewest) {
      note(pointer, "the array has " + std::to_string(count) + " elements, and at least " +
                        std::to_string(*node.fewest) + " are needed.");
    }
    if (node.most && count > *node.most) {
      note(pointer, "the array has " + std::to_string(count) + " elements, and at most " +
                        std::to_string(*node.most) + " are allowed.");
    }
  }

  void object(const Schema::Node& node, const std::string& pointer) {  // NOLINT(misc-no-recursion)
    std::set<std::string, std::less<>> seen;
    in_.begin_object();
    for (std::string name; in_.next_member(name);) {
      const std::string below = pointer + pointer_part(name);
      if (!seen.insert(name).second) note(below, "the member is there twice.");
      if (const auto known = node.properties.find(name); known != node.properties.end()) {
        value(known->second, below);
      } else if (node.closed) {
        note(below, "no member of that name is allowed" + known_names(node) + ".");
        in_.raw();
      } else if (!node.additional.empty()) {
        value(node.additional.front(), below);
      } else {
        in_.raw();
      }
    }
    for (const std::string& name : node.required) {
      if (!seen.contains(name)) note(pointer, "the member '" + name + "' is missing.");
    }
  }

  static std::string known_names(const Schema::Node& node) {
    std::string names;
    for (const auto& each : node.properties) {
      names += (names.empty() ? " (only " : ", ") + each.first;
    }
    return names.empty() ? names : names + ")";
  }

  JsonReader in_;
  std::size_t& steps_;
  std::vector<std::string> sentences_;
};

}  // namespace

Schema::Schema() : root_(std::make_shared<const Node>()) {}
Schema::Schema(const Schema& other) noexcept = default;
Schema::Schema(Schema&& other) noexcept = default;
Schema& Schema::operator=(const Schema& other) noexcept = default;
Schema& Schema::operator=(Schema&& other) noexcept = default;
Schema::~Schema() = default;

Schema Schema::read(std::string_view text) {
  Schema schema;
  try {
    schema.root_ = std::make_shared<const Node>(read_schema(text));
  } catch (const Error& error) {
    if (error.code() == Errc::bad_tool) throw;
    throw Error(Errc::bad_tool, std::string("The schema cannot be read. ") + error.what());
  }
  return schema;
}

Schema Schema::read_known(std::string_view text) {
  Schema schema;
  try {
    schema.root_ = std::make_shared<const Node>(read_schema(text, true));
  } catch (const Error&) {  // everything fits
  }
  return schema;
}

std::vector<std::string> Schema::check(std::string_view json) const {
  std::size_t steps = 0;
  return SchemaCheck(JsonReader(json), steps).all(*root_);
}

bool Schema::only_objects() const noexcept { return root_->types == kObject; }

std::vector<std::string> Schema::properties() const {
  std::vector<std::string> names;
  for (const auto& each : root_->properties) names.push_back(each.first);
  return names;
}

bool Schema::is_required(std::string_view property) const noexcept {
  return root_->required.contains(property);
}

bool Schema::is_scalar(std::string_view property) const noexcept {
  const auto found = root_->properties.find(property);
  if (found == root_->properties.end()) return false;
  const unsigned types = found->second.types;
  return types != 0 && (types & ~(kString | kInteger | kNumber | kBoolean)) == 0;
}

std::vector<std::string> check_against(std::string_view schema, std::string_view json) {
  return Schema::read(schema).check(json);
}

}  // namespace tiffany::agent

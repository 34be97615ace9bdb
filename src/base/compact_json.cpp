#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/json.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany {
namespace {

class Compacting {
 public:
  Compacting(std::string_view text, int deepest) : in_(text, deepest) { out_.reserve(text.size()); }

  std::string all() {
    value();
    in_.end();
    return std::move(out_);
  }

 private:
  // As deep as the reader lets it.
  void value() {  // NOLINT(misc-no-recursion)
    switch (in_.kind()) {
      case JsonKind::array:
        return array();
      case JsonKind::object:
        return object();
      case JsonKind::number: {
        JsonReader check = in_;
        check.number();
        break;
      }
      default:
        break;
    }
    out_ += in_.raw();
  }

  void array() {  // NOLINT(misc-no-recursion)
    in_.begin_array();
    out_ += '[';
    for (bool first = true; in_.next_element(); first = false) {
      if (!first) out_ += ',';
      value();
    }
    out_ += ']';
  }

  void object() {  // NOLINT(misc-no-recursion)
    const std::size_t begin = in_.offset();
    std::vector<std::string> names;
    in_.begin_object();
    out_ += '{';
    for (std::string name; in_.next_member(name);) {
      if (!names.empty()) out_ += ',';
      JsonWriter(out_).key(name);
      names.push_back(std::move(name));
      value();
    }
    out_ += '}';
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) in_.fail("an object that has each name once", begin);
  }

  JsonReader in_;
  std::string out_;
};

}  // namespace

std::string compact_json(std::string_view text, int deepest) {
  return Compacting(text, deepest).all();
}

}  // namespace tiffany

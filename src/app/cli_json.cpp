#include "app/cli_json.hpp"

#include <charconv>

#include "tiffany/base/json.hpp"

namespace tiffany::app {

Json Json::parse(std::string_view text) {
  JsonReader in(text);
  Json value = read(in);
  in.end();
  return value;
}

Json Json::read(JsonReader& in) {
  Json value;
  value.kind_ = in.kind();
  JsonReader ahead = in;
  value.raw_ = ahead.raw();
  switch (value.kind_) {
    case JsonKind::object:
      in.begin_object();
      for (std::string name; in.next_member(name);) value.members_.emplace_back(name, read(in));
      value.text_ = value.raw_;
      break;
    case JsonKind::array:
      in.begin_array();
      while (in.next_element()) value.elements_.push_back(read(in));
      value.text_ = value.raw_;
      break;
    case JsonKind::string:
      value.text_ = in.string();
      break;
    case JsonKind::null:
      in.null();
      break;
    default:
      value.text_ = in.raw();
  }
  return value;
}

const Json& Json::operator[](std::string_view name) const noexcept {
  static const Json kNothing;
  for (const auto& [key, value] : members_) {
    if (key == name) return value;
  }
  return kNothing;
}

std::int64_t Json::number() const noexcept {
  std::int64_t number = 0;
  std::from_chars(raw_.data(), raw_.data() + raw_.size(), number);
  return number;
}

std::string quoted_json(std::string_view text) {
  std::string out;
  JsonWriter(out).value(text);
  return out;
}

}  // namespace tiffany::app

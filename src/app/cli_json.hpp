// A JSON text as a tree, for commands that show what the API answered. Internal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/json_reader.hpp"

namespace tiffany::app {

// What is asked for and is not there is null, whose text is empty and whose number is 0: an answer
// of another version of the daemon is shown as far as it goes.
class Json {
 public:
  Json() = default;
  // Throws Errc::bad_json.
  static Json parse(std::string_view text);

  JsonKind kind() const noexcept { return kind_; }
  bool null() const noexcept { return kind_ == JsonKind::null; }
  const Json& operator[](std::string_view name) const noexcept;
  bool has(std::string_view name) const noexcept { return !(*this)[name].null(); }
  const std::vector<Json>& elements() const noexcept { return elements_; }
  const std::vector<std::pair<std::string, Json>>& members() const noexcept { return members_; }

  // Of a string its content, of everything else its JSON; empty for null.
  const std::string& text() const noexcept { return text_; }
  const std::string& raw() const noexcept { return raw_; }  // as it was written
  bool truth() const noexcept { return raw_ == "true"; }
  std::int64_t number() const noexcept;

 private:
  static Json read(JsonReader& in);
  JsonKind kind_ = JsonKind::null;
  std::string raw_ = "null";
  std::string text_;
  std::vector<Json> elements_;
  std::vector<std::pair<std::string, Json>> members_;
};

// A text as a JSON string.
std::string quoted_json(std::string_view text);

}  // namespace tiffany::app

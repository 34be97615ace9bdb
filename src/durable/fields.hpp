// The payload of a record, by the names of its members.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/json_reader.hpp"

namespace tiffany::detail {

class Fields {
 public:
  // `line` is all of the record, for its place.
  explicit Fields(std::string_view payload, std::string_view line = {})
      : text_("{" + std::string(payload) + "}"), line_(line) {
    JsonReader in(text_);
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      const std::string_view raw = in.raw();
      members_.emplace_back(std::move(name), raw);
    }
  }
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;

  bool has(std::string_view name) const noexcept { return !raw(name).empty(); }
  // Empty when there is none.
  std::string_view raw(std::string_view name) const noexcept {
    for (const auto& [key, value] : members_) {
      if (key == name) return value;
    }
    return {};
  }
  std::string text(std::string_view name) const {
    const std::string_view value = raw(name);
    return value.empty() ? std::string() : JsonReader(value).string();
  }
  std::int64_t number(std::string_view name) const {
    const std::string_view value = raw(name);
    return value.empty() ? 0 : JsonReader(value).integer();
  }
  // Of an array of arrays of two: a name and any value.
  static std::vector<std::pair<std::string, std::string>> pairs_in(std::string_view value) {
    std::vector<std::pair<std::string, std::string>> all;
    if (value.empty()) return all;
    JsonReader in(value);
    in.begin_array();
    while (in.next_element()) {
      in.begin_array();
      in.next_element();
      std::string first = in.string();
      in.next_element();
      all.emplace_back(std::move(first), std::string(in.raw()));
      in.next_element();
    }
    return all;
  }
  // Where in the program it was written: "order.cpp:31".
  std::string place() const {
    constexpr std::string_view kPlace = R"(,"loc":")";
    const std::size_t at = line_.rfind(kPlace);
    if (at == std::string_view::npos) return "an unknown place";
    const std::size_t from = at + kPlace.size();
    return std::string(line_.substr(from, line_.find('"', from) - from));
  }

 private:
  std::string text_;
  std::string_view line_;
  std::vector<std::pair<std::string, std::string_view>> members_;
};

}  // namespace tiffany::detail

// What a record says, as members of JSON with the commas between them.
#pragma once

#include <string>
#include <string_view>

#include "tiffany/base/hash.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/wal/record_store.hpp"

namespace tiffany::detail {

// A little of a text that may be long, for sentences.
inline std::string excerpt(std::string_view text) {
  constexpr std::size_t kShown = 120;
  if (text.size() <= kShown) return std::string(text);
  std::size_t end = kShown;  // not within a character
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "... (" + std::to_string(text.size()) + " bytes)";
}

inline std::string hash_of(std::string_view text) {
  return text.empty() ? "" : detail::hex(hash_name(text));
}

// Members of a payload, with the commas between them.
class Payload {
 public:
  explicit Payload(std::string& out) : out_(out) { out_.clear(); }
  Payload& text(std::string_view name, std::string_view value) {
    begin(name);
    JsonWriter(out_).value(value);
    return *this;
  }
  Payload& raw(std::string_view name, std::string_view json) {
    begin(name);
    out_ += json;
    return *this;
  }
  Payload& value(std::string_view name, wal::RecordStore& store, const std::string& json) {
    begin(name);
    store.add_value(out_, json);
    return *this;
  }

 private:
  void begin(std::string_view name) {
    out_ += out_.empty() ? "\"" : ",\"";
    out_ += name;
    out_ += "\":";
  }
  std::string& out_;
};

}  // namespace tiffany::detail

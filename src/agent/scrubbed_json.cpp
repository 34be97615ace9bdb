#include "agent/scrubbed_json.hpp"

#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany::agent {
namespace {

// Copies one value; `changed` is set when a string was.
class JsonScrub {
 public:
  JsonScrub(const Scrubber& secrets, std::string_view json) : secrets_(secrets), in_(json) {}
  std::string whole() {
    JsonWriter out(text_);
    copy(out);
    in_.end();
    return std::move(text_);
  }
  bool changed() const noexcept { return changed_; }

 private:
  std::string scrubbed(const std::string& text) {
    std::string without = secrets_.scrubbed(text);
    changed_ = changed_ || without != text;
    return without;
  }
  void copy(JsonWriter& out) {
    switch (in_.kind()) {
      case JsonKind::object:
        out.begin_object();
        in_.begin_object();
        for (std::string name; in_.next_member(name);) {
          out.key(scrubbed(name));
          copy(out);
        }
        out.end_object();
        break;
      case JsonKind::array:
        out.begin_array();
        in_.begin_array();
        while (in_.next_element()) copy(out);
        out.end_array();
        break;
      case JsonKind::string:
        out.value(scrubbed(in_.string()));
        break;
      default:
        out.raw_value(in_.raw());
    }
  }

  const Scrubber& secrets_;
  JsonReader in_;
  std::string text_;
  bool changed_ = false;
};

}  // namespace

std::string scrubbed_json(const Scrubber& secrets, std::string_view json) {
  if (secrets.empty()) return std::string(json);
  try {
    JsonScrub scrub(secrets, json);
    const std::string without = scrub.whole();
    if (scrub.changed()) return secrets.scrubbed(without);
  } catch (const Error&) {  // the tool says what is wrong with it
  }
  return secrets.scrubbed(json);
}

}  // namespace tiffany::agent

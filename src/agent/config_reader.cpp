#include "agent/config_reader.hpp"

#include <algorithm>

#include "base/shown_text.hpp"

namespace tiffany::agent {

void ConfigReader::fail(std::string_view sentence) const {
  std::string text = tiffany::detail::shown(file_) + ": ";
  text += place_.empty() ? std::string("the whole") : tiffany::detail::shown(place_);
  text += ' ';
  throw Error(Errc::bad_argument, text + std::string(sentence));
}

void ConfigReader::fail_json(const std::string& sentence) const {
  const std::string_view before = text_.substr(0, in_.offset());
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  throw Error(Errc::bad_json,
              tiffany::detail::shown(file_) + ", line " + std::to_string(line) + ": " + sentence);
}

void ConfigReader::require(JsonKind kind, std::string_view what) {
  if (in_.kind() != kind) fail("must be " + std::string(what) + ".");
}

void ConfigReader::check_name(const std::string& name,
                              std::initializer_list<std::string_view> known,
                              std::set<std::string>& seen) const {
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    std::string sentence = "has a member \"" + tiffany::detail::shown(name.substr(0, 80)) +
                           "\" that nobody knows. Known are: ";
    const char* comma = "";
    for (const std::string_view each : known) {
      sentence += std::exchange(comma, ", ");
      sentence += each;
    }
    fail(sentence + ".");
  }
  if (!seen.insert(name).second) fail("has the member \"" + name + "\" twice.");
}

std::string ConfigReader::text() {
  require(JsonKind::string, "a text (\"...\")");
  return in_.string();
}

std::string ConfigReader::text_of(std::initializer_list<std::string_view> words) {
  std::string word = text();
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  std::string sentence = "must be one of ";
  const char* comma = "";
  for (const std::string_view each : words) {
    sentence += std::exchange(comma, ", ");
    sentence += each;
  }
  fail(sentence + "; it is \"" + tiffany::detail::shown(word.substr(0, 80)) + "\".");
}

std::int64_t ConfigReader::integer(std::int64_t least, std::int64_t most) {
  const std::string range =
      "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most) + ".";
  if (in_.kind() != JsonKind::number) fail(range);
  const std::string_view digits = in_.raw();
  JsonReader number(digits);
  std::int64_t value = 0;
  try {
    value = number.integer();
  } catch (const Error&) {  // a fraction, or beyond 64 bits
    fail(range);
  }
  if (value < least || value > most) fail(range);
  return value;
}

bool ConfigReader::boolean() {
  require(JsonKind::boolean, "true or false");
  return in_.boolean();
}

std::string ConfigReader::json() { return compact_json(in_.raw()); }

}  // namespace tiffany::agent

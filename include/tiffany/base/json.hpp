// Writing JSON, piece by piece, straight into a string.
//
//   std::string out;
//   JsonWriter json(out);
//   json.begin_object();
//   json.member("id", 7);
//   json.key("sites");
//   json.begin_array();
//   json.value("a.cpp:3");
//   json.end_array();
//   json.end_object();                 // {"id":7,"sites":["a.cpp:3"]}
//
// The writer puts the commas. Members come out in the order they are written, so equal calls give
// equal bytes. What it writes is valid UTF-8 whatever it is given: each broken sequence becomes
// U+FFFD. Integers are written exactly, all 64 bits of them; readers that keep numbers as doubles
// lose digits above 2^53, so what is compared rather than counted (hashes) is better a string.
// Other numbers are written with the fewest digits that give the same number back; one that is not
// finite has no JSON and is an error (bad_argument).
//
// It does not check that begin and end match, nor that a key has a value: that is the caller's.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace tiffany {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) noexcept : out_(out) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  void key(std::string_view name);

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }
  template <std::integral N>
  void value(N number) {
    if constexpr (std::same_as<N, bool>) {
      raw(number ? "true" : "false");
    } else if constexpr (std::signed_integral<N>) {
      number_value(static_cast<std::int64_t>(number));
    } else {
      number_value(static_cast<std::uint64_t>(number));
    }
  }
  void value(double number);
  void value(float number);
  void null() { raw("null"); }
  // What is JSON already, put in as it is.
  void raw_value(std::string_view json) { raw(json); }

  template <class V>
  void member(std::string_view name, const V& what) {
    key(name);
    value(what);
  }

  // A line break before what comes next, for readers: JSON does not care.
  void line_break() { break_line_ = true; }

 private:
  void open(char bracket);
  void close(char bracket);
  void raw(std::string_view text);
  void number_value(std::int64_t number);
  void number_value(std::uint64_t number);
  void separate();
  void quote(std::string_view text);

  std::string& out_;
  bool comma_ = false;  // what comes next has something before it in its object or array
  bool break_line_ = false;
};

}  // namespace tiffany

// Reading JSON, piece by piece, straight from its text.
//
//   JsonReader in(R"({"id":7,"sites":["a.cpp:3"]})");
//   in.begin_object();
//   for (std::string name; in.next_member(name);) {
//     if (name == "id") {
//       id = in.integer();
//     } else if (name == "sites") {
//       in.begin_array();
//       while (in.next_element()) sites.push_back(in.string());
//     } else {
//       in.raw();                      // not ours: skipped
//     }
//   }
//   in.end();
//
// It takes what RFC 8259 allows in valid UTF-8 and nothing else, at most 64 brackets deep, or less
// when its maker says so. Whatever
// else comes is an Error bad_json that says what was expected, what is there and at which byte; the
// reader is then of no use any more. It never reads beyond the text, which needs no zero at its end
// and must live as long as the reader.
//
// The caller asks in the order of the text: after next_member() and next_element() said true,
// exactly one value is read. A copy of the reader reads on by itself, which is a way to look ahead.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tiffany {

enum class JsonKind { null, boolean, number, string, array, object };

class JsonReader {
 public:
  static constexpr int kMaxDepth = 64;

  // `deepest` is at most kMaxDepth.
  explicit JsonReader(std::string_view text, int deepest = kMaxDepth) noexcept
      : text_(text), deepest_(deepest) {}
  // A text that is gone with the statement cannot be read after it.
  template <std::same_as<std::string> Temporary>
  explicit JsonReader(Temporary&& text, int deepest = kMaxDepth) = delete;

  // What comes next, by its first character; it stays unread, and offset() is at it.
  JsonKind kind();

  void begin_object();
  // The name of the next member, whose value comes next. False: there is none, '}' is read.
  bool next_member(std::string& name);
  void begin_array();
  // Whether there is one more element, which comes next. False: there is none, ']' is read.
  bool next_element();

  std::string string();
  bool boolean();
  void null();
  // Digits alone: 1.0 and 1e3 are not integers. Outside of the 64 bits is an error.
  std::int64_t integer();
  std::uint64_t unsigned_integer();
  // The nearest double. An error for what is too large for it, or so small that it would be zero.
  double number();
  float single();  // the same, for a float

  // Reads one value, whatever it is, and gives its exact text.
  std::string_view raw();

  // Nothing but white space is left.
  void end();

  // How many bytes are read.
  std::size_t offset() const noexcept { return at_; }

  // The error for what is at a byte, for those who expect more than JSON can say: a date, a name.
  [[noreturn]] void fail(std::string_view expected, std::size_t at) const;

 private:
  struct Text {
    std::string_view body;
    bool escaped = false;
  };
  bool at_end() const noexcept { return at_ == text_.size(); }
  bool ahead(char c) const noexcept { return !at_end() && text_[at_] == c; }
  [[noreturn]] void fail(std::string_view expected) const { fail(expected, at_); }
  void skip_space() noexcept;
  void open(char bracket, std::string_view expected);
  bool more(char bracket, std::string_view expected);
  void word(std::string_view letters, std::string_view expected);
  bool next_name(Text& name);
  Text text();
  void escape();
  unsigned hex4();
  void digits();
  std::string_view number_text(std::string_view expected);
  template <class N>
  N whole(std::string_view expected);
  template <class N>
  N real(std::string_view expected);
  void skip();

  std::string_view text_;
  std::size_t at_ = 0;
  int deepest_;
  int depth_ = 0;
  bool first_ = false;  // nothing but a bracket has been read of the innermost array or object
};

// One JSON value without the white space around its parts, for those who keep raw JSON: what it
// gives has no line break, and every JsonReader reads it. Strings and numbers stay as they are
// written; the names of members lose the escapes that they do not need.
//
// An Error bad_json for what a JsonReader does not take, for anything behind the value, for an
// object that has a name twice (readers do not agree which of the two counts), for a number that no
// double comes near (1e999), and for more than `deepest` brackets inside one another.
std::string compact_json(std::string_view text, int deepest = JsonReader::kMaxDepth);

}  // namespace tiffany

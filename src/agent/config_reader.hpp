// Reading JSON that people write: models.json, scripts of models. Each mistake is a sentence that
// names the file and the place in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "tiffany/base/json_reader.hpp"

namespace tiffany::agent {

class ConfigReader {
 public:
  // `file` is named in sentences. The text must live as long as the reader.
  ConfigReader(std::string file, std::string_view text)
      : file_(std::move(file)), text_(text), in_(text_) {}

  // Reads all of it with `read(*this)`. What is no JSON is an Error bad_json with the line.
  template <class F>
  void whole(const F& read) {
    guarded([&] {
      read();
      in_.end();
    });
  }

  // Calls `read(name)` for each member, which reads its value. A name that is not known, or comes
  // twice, is a mistake.
  template <class F>
  void object(std::initializer_list<std::string_view> known, const F& read) {
    require(JsonKind::object, "an object ({...})");
    std::set<std::string> seen;
    in_.begin_object();
    for (std::string name; in_.next_member(name);) {
      check_name(name, known, seen);
      const Below below(*this, (place_.empty() ? "" : ".") + name);
      read(name);
    }
  }
  // The same for names that are the operator's: at most so many.
  template <class F>
  void members(std::size_t most, const F& read) {
    require(JsonKind::object, "an object ({...})");
    std::set<std::string> seen;
    in_.begin_object();
    for (std::string name; in_.next_member(name);) {
      const Below below(*this, (place_.empty() ? "" : ".") + name);
      if (!seen.insert(name).second) fail("is there twice.");
      if (seen.size() > most) fail("is one of more than " + std::to_string(most) + " members.");
      read(name);
    }
  }
  // Calls `read(index)` for each element, which reads it.
  template <class F>
  void array(std::size_t most, const F& read) {
    require(JsonKind::array, "a list ([...])");
    in_.begin_array();
    for (std::size_t i = 0; in_.next_element(); ++i) {
      const Below below(*this, "[" + std::to_string(i) + "]");
      if (i == most) fail("has more than " + std::to_string(most) + " elements.");
      read(i);
    }
  }

  JsonKind kind() { return in_.kind(); }
  std::string text();
  std::string text_of(std::initializer_list<std::string_view> words);  // one of these
  std::int64_t integer(std::int64_t least, std::int64_t most);
  bool boolean();
  void null() { in_.null(); }
  std::string json();  // any value, without white space

  // "plan.json: replies[2].when " + sentence
  [[noreturn]] void fail(std::string_view sentence) const;

 private:
  class Below {
   public:
    Below(ConfigReader& reader, const std::string& part)
        : reader_(reader), before_(reader.place_.size()) {
      reader_.place_ += part;
    }
    ~Below() { reader_.place_.resize(before_); }
    Below(const Below&) = delete;
    Below& operator=(const Below&) = delete;

   private:
    ConfigReader& reader_;
    std::size_t before_;
  };

  template <class F>
  void guarded(const F& read);
  void require(JsonKind kind, std::string_view what);
  void check_name(const std::string& name, std::initializer_list<std::string_view> known,
                  std::set<std::string>& seen) const;
  [[noreturn]] void fail_json(const std::string& sentence) const;

  std::string file_;
  std::string_view text_;
  JsonReader in_;
  std::string place_;
};

}  // namespace tiffany::agent

#include "tiffany/base/error.hpp"

template <class F>
void tiffany::agent::ConfigReader::guarded(const F& read) {
  try {
    read();
  } catch (const Error& error) {
    if (error.code() != Errc::bad_json) throw;
    fail_json(error.what());
  }
}

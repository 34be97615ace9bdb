// What both protocols have in common on the way back.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "agent/wire.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany::agent::wire {

inline constexpr std::size_t kMostCalls = 128;

// Calls `read(name)` for each member of an object, which reads its value. Anything but an object is
// skipped: of null and what an endpoint has made up, nothing is used.
template <class F>
void members(JsonReader& in, const F& read) {
  if (in.kind() != JsonKind::object) {
    in.raw();
    return;
  }
  in.begin_object();
  for (std::string name; in.next_member(name);) read(std::string_view(name));
}
template <class F>
void elements(JsonReader& in, const F& read) {
  if (in.kind() != JsonKind::array) {
    in.raw();
    return;
  }
  in.begin_array();
  while (in.next_element()) read();
}

std::unique_ptr<Assembler> chat_assembler();

// Empty for what is no string.
std::string string_or_nothing(JsonReader& in);
// -1 for what is no whole number, or negative.
std::int64_t count_or_nothing(JsonReader& in);
// By the names of both protocols. Not known, when a number is missing or none.
Usage read_usage(JsonReader& in);
// Of {"message": ..., "code": ...} or of a text: a sentence, with the code.
std::string read_error(JsonReader& in);
// The sentence of a body with an error; empty when it has none.
std::string error_of_body(std::string_view body);

}  // namespace tiffany::agent::wire

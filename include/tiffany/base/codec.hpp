// Values as JSON and back: to_json(value) and from_json<T>(text).
//
//   struct Order {
//     std::string id;
//     std::vector<int> amounts;
//     std::optional<std::string> note;
//   };
//   TIFFANY_JSON(Order, id, amounts, note);   // beside the type, in its namespace
//
//   to_json(Order{"a7", {1, 2}, {}})          // {"id":"a7","amounts":[1,2],"note":null}
//   from_json<Order>(text)                    // or an Error bad_json
//
// What is written reads back as an equal value, and equal values give equal bytes. Coded by
// themselves are
//
//   bool, float, double, std::string          as JSON has them; a string must be valid UTF-8, and
//                                             NaN and infinities are errors (bad_argument)
//   integers, enums                           as an integer; reading checks the range of the type
//   std::optional                             as null or its value (in an array, if that can be
//                                             null)
//   std::vector, std::array, std::pair,
//   std::tuple                                as an array
//   std::variant                              as [index, value]
//   std::map and std::unordered_map of
//   std::string to T                          as an object, the latter in the order of its names
//   Uuid                                      as a string
//   std::chrono::duration                     as an integer count of nanoseconds: durations that
//                                             are whole numbers of them
//   Unit, std::monostate                      as null
//
// TIFFANY_JSON takes up to 32 members, and types that can be made without arguments. They are
// written as an object, in the given order. Reading takes them in any order and skips members that
// it does not know; a member that is missing is an error that names it, unless it is a
// std::optional or named by TIFFANY_JSON_ADDED(Type, members...) beside TIFFANY_JSON: these stay as
// they are in a Type{}. So a member can be added to a type whose values lie in a log:
//
//   struct Order { std::string id; std::string currency = "EUR"; };
//   TIFFANY_JSON(Order, id, currency);
//   TIFFANY_JSON_ADDED(Order, currency);      // older texts do not have it
//
// Where that does not fit, write the codec:
//
//   template <>
//   struct tiffany::Codec<Mine> {
//     static void write(JsonWriter& out, const Mine& value);
//     static Mine read(JsonReader& in);
//   };
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include "tiffany/base/json.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany {

// How a T is written and read; only specialisations of it exist.
template <class T>
struct Codec;

template <class T>
concept Coded = requires(JsonWriter& out, JsonReader& in, const T& value) {
  Codec<T>::write(out, value);
  { Codec<T>::read(in) } -> std::same_as<T>;
};

// One value among others: what codecs use for their parts.
template <class T>
void write_json(JsonWriter& out, const T& value) {
  static_assert(
      Coded<T>,
      "this type has no codec: put TIFFANY_JSON(Type, members...) beside it, or specialise "
      "tiffany::Codec for it");
  if constexpr (Coded<T>) Codec<T>::write(out, value);
}

template <class T>
T read_json(JsonReader& in) {
  static_assert(
      Coded<T>,
      "this type has no codec: put TIFFANY_JSON(Type, members...) beside it, or specialise "
      "tiffany::Codec for it");
  if constexpr (Coded<T>) return Codec<T>::read(in);
}

template <class T>
std::string to_json(const T& value) {
  std::string text;
  JsonWriter out(text);
  write_json(out, value);
  return text;
}

// The whole text is one T, or it is an error.
template <class T>
T from_json(std::string_view text) {
  JsonReader in(text);
  T value = read_json<T>(in);
  in.end();
  return value;
}

}  // namespace tiffany

#include "tiffany/detail/base/codec_containers.hpp"
#include "tiffany/detail/base/codec_structs.hpp"
#include "tiffany/detail/base/codec_values.hpp"

// The JSON Schema of a type that has a codec: what its values look like, for forms and documents.
//
//   json_schema<Order>()   // {"type":"object","properties":{"id":{"type":"string"},...},
//                          //  "required":["id"]}
//
// Of types with a codec of their own nothing is known: {} allows everything. A type that contains
// itself is described one level deep.
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/uuid.hpp"

namespace tiffany {

namespace detail {

inline constexpr int kDeepestSchema = 8;

template <class T>
struct Schema {
  static void write(JsonWriter& out, int depth) {
    out.begin_object();
    if constexpr (HasJsonMembers<T>) {
      out.member("type", "object");
      if (depth < kDeepestSchema) members(out, depth);
    }
    out.end_object();
  }

 private:
  template <class Each>
  static void member(JsonWriter& out, const Each& each, int depth) {
    using Member = std::remove_cvref_t<decltype(std::declval<T&>().*each.pointer)>;
    out.key(each.name);
    Schema<Member>::write(out, depth + 1);
  }
  template <class Each>
  static void required(JsonWriter& out, const Each& each) {
    using Member = std::remove_cvref_t<decltype(std::declval<T&>().*each.pointer)>;
    if (!kIsOptional<Member> && !was_added<T>(each.name)) out.value(each.name);
  }
  static void members(JsonWriter& out, int depth) {
    const auto all = tiffany_json_members(std::type_identity<T>());
    out.key("properties");
    out.begin_object();
    std::apply([&](const auto&... each) { (member(out, each, depth), ...); }, all);
    out.end_object();
    out.key("required");
    out.begin_array();
    std::apply([&](const auto&... each) { (required(out, each), ...); }, all);
    out.end_array();
  }
};

inline void write_schema_type(JsonWriter& out, std::string_view type) {
  out.begin_object();
  out.member("type", type);
  out.end_object();
}

template <>
struct Schema<bool> {
  static void write(JsonWriter& out, int) { write_schema_type(out, "boolean"); }
};
template <std::integral T>
struct Schema<T> {
  static void write(JsonWriter& out, int) { write_schema_type(out, "integer"); }
};
template <std::floating_point T>
struct Schema<T> {
  static void write(JsonWriter& out, int) { write_schema_type(out, "number"); }
};
template <>
struct Schema<std::string> {
  static void write(JsonWriter& out, int) { write_schema_type(out, "string"); }
};
template <>
struct Schema<Uuid> {
  static void write(JsonWriter& out, int) {
    out.begin_object();
    out.member("type", "string");
    out.member("format", "uuid");
    out.end_object();
  }
};
template <class Rep, class Period>
struct Schema<std::chrono::duration<Rep, Period>> {
  static void write(JsonWriter& out, int) {
    out.begin_object();
    out.member("type", "integer");
    out.member("description", "nanoseconds");
    out.end_object();
  }
};
template <class T>
struct Schema<std::optional<T>> {
  static void write(JsonWriter& out, int depth) {
    out.begin_object();
    out.key("anyOf");
    out.begin_array();
    Schema<T>::write(out, depth + 1);
    write_schema_type(out, "null");
    out.end_array();
    out.end_object();
  }
};
template <class T>
struct Schema<std::vector<T>> {
  static void write(JsonWriter& out, int depth) {
    out.begin_object();
    out.member("type", "array");
    out.key("items");
    Schema<T>::write(out, depth + 1);
    out.end_object();
  }
};
template <class T>
struct MapSchema {
  static void write(JsonWriter& out, int depth) {
    out.begin_object();
    out.member("type", "object");
    out.key("additionalProperties");
    Schema<T>::write(out, depth + 1);
    out.end_object();
  }
};
template <class T, class Compare>
struct Schema<std::map<std::string, T, Compare>> : MapSchema<T> {};
template <class T, class Hash, class Equal>
struct Schema<std::unordered_map<std::string, T, Hash, Equal>> : MapSchema<T> {};

}  // namespace detail

template <class T>
std::string json_schema() {
  std::string text;
  if constexpr (std::is_void_v<T>) {
    text = R"({"type":"null"})";
  } else {
    JsonWriter out(text);
    detail::Schema<T>::write(out, 0);
  }
  return text;
}

}  // namespace tiffany

// Codecs of what has values in it: optional, vector, array, pair, tuple, variant, maps. See
// base/codec.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/outcome.hpp"

namespace tiffany {

namespace detail {

std::uint64_t read_unsigned(JsonReader& in, std::uint64_t high);
void write_name(JsonWriter& out, std::string_view name);
// Of an array whose length is known.
void expect_element(JsonReader& in);
void expect_array_end(JsonReader& in);
[[noreturn]] void refuse_valueless();

template <class T>
inline constexpr bool kCanBeNull = std::same_as<T, Unit> || std::same_as<T, std::monostate>;
template <class T>
inline constexpr bool kCanBeNull<std::optional<T>> = true;

template <class T>
T read_element(JsonReader& in) {
  expect_element(in);
  return read_json<T>(in);
}

}  // namespace detail

template <Coded T>
struct Codec<std::optional<T>> {
  static void write(JsonWriter& out, const std::optional<T>& value) {
    if (!value) return out.null();
    if constexpr (detail::kCanBeNull<T>) out.begin_array();
    write_json(out, *value);
    if constexpr (detail::kCanBeNull<T>) out.end_array();
  }
  static std::optional<T> read(JsonReader& in) {
    if (in.kind() == JsonKind::null) {
      in.null();
      return std::nullopt;
    }
    if constexpr (detail::kCanBeNull<T>) {
      in.begin_array();
      std::optional<T> value(std::in_place, detail::read_element<T>(in));
      detail::expect_array_end(in);
      return value;
    } else {
      return std::optional<T>(std::in_place, read_json<T>(in));
    }
  }
};

template <Coded T>
struct Codec<std::vector<T>> {
  static void write(JsonWriter& out, const std::vector<T>& value) {
    out.begin_array();
    for (std::size_t i = 0; i < value.size(); ++i) write_json<T>(out, value[i]);
    out.end_array();
  }
  static std::vector<T> read(JsonReader& in) {
    std::vector<T> value;
    in.begin_array();
    while (in.next_element()) value.push_back(read_json<T>(in));
    return value;
  }
};

template <Coded T, std::size_t N>
struct Codec<std::array<T, N>> {
  static void write(JsonWriter& out, const std::array<T, N>& value) {
    out.begin_array();
    for (const T& item : value) write_json(out, item);
    out.end_array();
  }
  static std::array<T, N> read(JsonReader& in) {
    std::array<T, N> value{};
    in.begin_array();
    for (T& item : value) item = detail::read_element<T>(in);
    detail::expect_array_end(in);
    return value;
  }
};

template <Coded A, Coded B>
struct Codec<std::pair<A, B>> {
  static void write(JsonWriter& out, const std::pair<A, B>& value) {
    out.begin_array();
    write_json(out, value.first);
    write_json(out, value.second);
    out.end_array();
  }
  static std::pair<A, B> read(JsonReader& in) {
    in.begin_array();
    std::pair<A, B> value{detail::read_element<A>(in), detail::read_element<B>(in)};
    detail::expect_array_end(in);
    return value;
  }
};

template <Coded... Ts>
struct Codec<std::tuple<Ts...>> {
  static void write(JsonWriter& out, const std::tuple<Ts...>& value) {
    out.begin_array();
    std::apply([&](const Ts&... items) { (write_json(out, items), ...); }, value);
    out.end_array();
  }
  static std::tuple<Ts...> read(JsonReader& in) {
    in.begin_array();
    std::tuple<Ts...> value{detail::read_element<Ts>(in)...};  // braces: from the left
    detail::expect_array_end(in);
    return value;
  }
};

template <Coded... Ts>
struct Codec<std::variant<Ts...>> {
  using Variant = std::variant<Ts...>;
  static void write(JsonWriter& out, const Variant& value) {
    if (value.valueless_by_exception()) detail::refuse_valueless();
    out.begin_array();
    out.value(value.index());
    std::visit([&out](const auto& item) { write_json(out, item); }, value);
    out.end_array();
  }
  static Variant read(JsonReader& in) {
    in.begin_array();
    detail::expect_element(in);
    const std::uint64_t index = detail::read_unsigned(in, sizeof...(Ts) - 1);
    detail::expect_element(in);
    Variant value = kReaders[index](in);
    detail::expect_array_end(in);
    return value;
  }

 private:
  template <std::size_t I>
  static Variant read_one(JsonReader& in) {
    return Variant(std::in_place_index<I>, read_json<std::variant_alternative_t<I, Variant>>(in));
  }
  using Reader = Variant (*)(JsonReader&);
  static constexpr std::array<Reader, sizeof...(Ts)> kReaders =
      []<std::size_t... I>(std::index_sequence<I...>) {
        return std::array<Reader, sizeof...(Ts)>{&read_one<I>...};
      }(std::index_sequence_for<Ts...>());
};

namespace detail {

template <class Map>
Map read_map(JsonReader& in) {
  Map value;
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    value.insert_or_assign(name, read_json<typename Map::mapped_type>(in));
  }
  return value;
}

}  // namespace detail

template <Coded T, class Compare>
struct Codec<std::map<std::string, T, Compare>> {
  using Map = std::map<std::string, T, Compare>;
  static void write(JsonWriter& out, const Map& value) {
    out.begin_object();
    for (const auto& [name, item] : value) {
      detail::write_name(out, name);
      write_json(out, item);
    }
    out.end_object();
  }
  static Map read(JsonReader& in) { return detail::read_map<Map>(in); }
};

template <Coded T, class Hash, class Equal>
struct Codec<std::unordered_map<std::string, T, Hash, Equal>> {
  using Map = std::unordered_map<std::string, T, Hash, Equal>;
  static void write(JsonWriter& out, const Map& value) {
    std::vector<const typename Map::value_type*> sorted;
    sorted.reserve(value.size());
    for (const auto& item : value) sorted.push_back(&item);
    std::sort(sorted.begin(), sorted.end(),
              [](const auto* a, const auto* b) { return a->first < b->first; });
    out.begin_object();
    for (const auto* item : sorted) {
      detail::write_name(out, item->first);
      write_json(out, item->second);
    }
    out.end_object();
  }
  static Map read(JsonReader& in) { return detail::read_map<Map>(in); }
};

}  // namespace tiffany

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

#include <algorithm>
#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tiffany/base/json.hpp"
#include "tiffany/base/json_reader.hpp"
#include "tiffany/base/outcome.hpp"
#include "tiffany/base/uuid.hpp"

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

namespace detail {

void write_string(JsonWriter& out, std::string_view text);
void write_name(JsonWriter& out, std::string_view name);
void write_nanoseconds(JsonWriter& out, bool fits, std::int64_t count);
std::int64_t read_integer(JsonReader& in, std::int64_t low, std::int64_t high);
std::uint64_t read_unsigned(JsonReader& in, std::uint64_t high);
std::int64_t read_ticks(JsonReader& in, std::int64_t nanoseconds, std::int64_t low,
                        std::int64_t high);
Uuid read_uuid(JsonReader& in);
// Of an array whose length is known.
void expect_element(JsonReader& in);
void expect_array_end(JsonReader& in);
[[noreturn]] void refuse_valueless();
[[noreturn]] void refuse_missing(std::string_view name, std::size_t object);

template <class T>
inline constexpr bool kCanBeNull = std::same_as<T, Unit> || std::same_as<T, std::monostate>;
template <class T>
inline constexpr bool kCanBeNull<std::optional<T>> = true;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

template <class T>
T read_element(JsonReader& in) {
  expect_element(in);
  return read_json<T>(in);
}

template <class Class, class T>
struct JsonMember {
  std::string_view name;
  T Class::* pointer;
};
template <class Class, class T>
JsonMember(const char*, T Class::*) -> JsonMember<Class, T>;

// Found beside the type, where TIFFANY_JSON has put it.
template <class T>
concept HasJsonMembers = requires { tiffany_json_members(std::type_identity<T>()); };

// And where TIFFANY_JSON_ADDED has put it.
template <class T>
concept HasAddedMembers = requires { tiffany_json_added(std::type_identity<T>()); };
template <class T>
constexpr bool was_added([[maybe_unused]] std::string_view name) noexcept {
  if constexpr (HasAddedMembers<T>) {
    return std::apply([&](const auto&... members) { return (... || (members.name == name)); },
                      tiffany_json_added(std::type_identity<T>()));
  } else {
    return false;
  }
}

}  // namespace detail

template <>
struct Codec<bool> {
  static void write(JsonWriter& out, bool value) { out.value(value); }
  static bool read(JsonReader& in) { return in.boolean(); }
};

template <std::integral T>
struct Codec<T> {
  static void write(JsonWriter& out, T value) { out.value(value); }
  static T read(JsonReader& in) {
    using Limits = std::numeric_limits<T>;
    if constexpr (std::signed_integral<T>) {
      return static_cast<T>(detail::read_integer(in, Limits::min(), Limits::max()));
    } else {
      return static_cast<T>(detail::read_unsigned(in, Limits::max()));
    }
  }
};

template <>
struct Codec<double> {
  static void write(JsonWriter& out, double value) { out.value(value); }
  static double read(JsonReader& in) { return in.number(); }
};

template <>
struct Codec<float> {
  static void write(JsonWriter& out, float value) { out.value(value); }
  static float read(JsonReader& in) { return in.single(); }
};

template <>
struct Codec<std::string> {
  static void write(JsonWriter& out, const std::string& value) { detail::write_string(out, value); }
  static std::string read(JsonReader& in) { return in.string(); }
};

template <class T>
  requires std::is_enum_v<T>
struct Codec<T> {
  using Number = std::underlying_type_t<T>;
  static void write(JsonWriter& out, T value) { write_json(out, static_cast<Number>(value)); }
  static T read(JsonReader& in) { return static_cast<T>(read_json<Number>(in)); }
};

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

template <>
struct Codec<Uuid> {
  static void write(JsonWriter& out, const Uuid& value) { out.value(value.text()); }
  static Uuid read(JsonReader& in) { return detail::read_uuid(in); }
};

template <std::signed_integral Rep, class Period>
  requires(std::ratio_divide<Period, std::nano>::den == 1)
struct Codec<std::chrono::duration<Rep, Period>> {
  using Duration = std::chrono::duration<Rep, Period>;
  static constexpr std::int64_t kTick = std::ratio_divide<Period, std::nano>::num;
  static void write(JsonWriter& out, Duration value) {
    std::int64_t count = 0;
    const bool fits = !__builtin_mul_overflow(value.count(), kTick, &count);
    detail::write_nanoseconds(out, fits, count);
  }
  static Duration read(JsonReader& in) {
    using Limits = std::numeric_limits<Rep>;
    return Duration(static_cast<Rep>(detail::read_ticks(in, kTick, Limits::min(), Limits::max())));
  }
};

template <class T>
  requires(std::same_as<T, Unit> || std::same_as<T, std::monostate>)
struct Codec<T> {
  static void write(JsonWriter& out, T) { out.null(); }
  static T read(JsonReader& in) {
    in.null();
    return T();
  }
};

template <detail::HasJsonMembers T>
struct Codec<T> {
  static void write(JsonWriter& out, const T& value) {
    out.begin_object();
    std::apply(
        [&](const auto&... members) {
          ((out.key(members.name), write_json(out, value.*members.pointer)), ...);
        },
        kMembers);
    out.end_object();
  }
  static T read(JsonReader& in) {
    static_assert(std::default_initializable<T>,
                  "TIFFANY_JSON is for types that can be made without arguments: specialise "
                  "tiffany::Codec for this one");
    T value{};
    std::array<bool, kCount> found{};
    in.kind();
    const std::size_t begin = in.offset();
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      if (!read_member(in, name, value, found, kIndices)) in.raw();
    }
    check(found, begin, kIndices);
    return value;
  }

 private:
  static constexpr auto kMembers = tiffany_json_members(std::type_identity<T>());
  static constexpr std::size_t kCount = std::tuple_size_v<decltype(kMembers)>;
  static constexpr auto kIndices = std::make_index_sequence<kCount>();

  template <std::size_t... I>
  static bool read_member(JsonReader& in, [[maybe_unused]] std::string_view name, T& value,
                          std::array<bool, kCount>& found, std::index_sequence<I...>) {
    return (... ||
            (name == std::get<I>(kMembers).name && (read_one<I>(in, value), found[I] = true)));
  }
  template <std::size_t I>
  static void read_one(JsonReader& in, T& value) {
    auto& member = value.*std::get<I>(kMembers).pointer;
    member = read_json<std::remove_reference_t<decltype(member)>>(in);
  }
  template <std::size_t... I>
  static void check(const std::array<bool, kCount>& found, [[maybe_unused]] std::size_t begin,
                    std::index_sequence<I...>) {
    (check_one<I>(found[I], begin), ...);
  }
  template <std::size_t I>
  static void check_one(bool found, std::size_t begin) {
    using Member = std::remove_cvref_t<decltype(std::declval<T&>().*std::get<I>(kMembers).pointer)>;
    constexpr bool kMayBeMissing =
        detail::kIsOptional<Member> || detail::was_added<T>(std::get<I>(kMembers).name);
    if (!found && !kMayBeMissing) {
      detail::refuse_missing(std::get<I>(kMembers).name, begin);
    }
  }
};

}  // namespace tiffany

// A macro that comes up again while it is expanded waits for the next time that the text is gone
// through: here often enough for 32 members and more.
#define TIFFANY_JSON_PARENS ()
#define TIFFANY_JSON_TIMES_4(...) \
  TIFFANY_JSON_ONCE(TIFFANY_JSON_ONCE(TIFFANY_JSON_ONCE(TIFFANY_JSON_ONCE(__VA_ARGS__))))
#define TIFFANY_JSON_TIMES_16(...) \
  TIFFANY_JSON_TIMES_4(            \
      TIFFANY_JSON_TIMES_4(TIFFANY_JSON_TIMES_4(TIFFANY_JSON_TIMES_4(__VA_ARGS__))))
#define TIFFANY_JSON_TIMES_32(...) TIFFANY_JSON_TIMES_16(TIFFANY_JSON_TIMES_16(__VA_ARGS__))
#define TIFFANY_JSON_ONCE(...) __VA_ARGS__
#define TIFFANY_JSON_LIST(Type, member, ...)                        \
  ::tiffany::detail::JsonMember{#member, &Type::member} __VA_OPT__( \
      , TIFFANY_JSON_LIST_AGAIN TIFFANY_JSON_PARENS(Type, __VA_ARGS__))
#define TIFFANY_JSON_LIST_AGAIN() TIFFANY_JSON_LIST

// The codec of a type, beside the type: TIFFANY_JSON(Type, member, ...);
#define TIFFANY_JSON(Type, ...)                                                               \
  [[maybe_unused]] constexpr auto tiffany_json_members(::std::type_identity<Type>) noexcept { \
    return ::std::make_tuple(                                                                 \
        __VA_OPT__(TIFFANY_JSON_TIMES_32(TIFFANY_JSON_LIST(Type, __VA_ARGS__))));             \
  }

// Members of such a type that older texts do not have: TIFFANY_JSON_ADDED(Type, member, ...);
#define TIFFANY_JSON_ADDED(Type, ...)                                                       \
  [[maybe_unused]] constexpr auto tiffany_json_added(::std::type_identity<Type>) noexcept { \
    return ::std::make_tuple(                                                               \
        __VA_OPT__(TIFFANY_JSON_TIMES_32(TIFFANY_JSON_LIST(Type, __VA_ARGS__))));           \
  }

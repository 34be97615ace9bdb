// The codec of a type whose members TIFFANY_JSON has named. See base/codec.hpp.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "tiffany/base/codec.hpp"

namespace tiffany {

namespace detail {

[[noreturn]] void refuse_missing(std::string_view name, std::size_t object);

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

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

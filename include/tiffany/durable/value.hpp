// What the code of a durable task takes a recorded value for: the type, and how it is read. Part of
// durable/calls.hpp; not used by itself.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/type_name.hpp"

namespace tiffany {

class FlowState;

namespace detail {

struct Slot;

// What the JSON of a type looks like, as far as every value of it does. "any" for types that write
// their own codec, and for enums, which often do.
template <class T>
inline constexpr std::string_view kShape = HasJsonMembers<T> ? "object" : "any";
template <>
inline constexpr std::string_view kShape<bool> = "boolean";
template <std::integral T>
inline constexpr std::string_view kShape<T> = "integer";
template <std::floating_point T>
inline constexpr std::string_view kShape<T> = "number";
template <>
inline constexpr std::string_view kShape<std::string> = "string";
template <>
inline constexpr std::string_view kShape<Uuid> = "string";
template <class Rep, class Period>
inline constexpr std::string_view kShape<std::chrono::duration<Rep, Period>> = "integer";
template <class T>
inline constexpr std::string_view kShape<std::optional<T>> = kCanBeNull<T> ? "any" : kShape<T>;
template <class T>
inline constexpr std::string_view kShape<std::vector<T>> = "array";
template <class T, std::size_t N>
inline constexpr std::string_view kShape<std::array<T, N>> = "array";
template <class A, class B>
inline constexpr std::string_view kShape<std::pair<A, B>> = "array";
template <class... Ts>
inline constexpr std::string_view kShape<std::tuple<Ts...>> = "array";
template <class... Ts>
inline constexpr std::string_view kShape<std::variant<Ts...>> = "array";
template <class T, class Compare>
inline constexpr std::string_view kShape<std::map<std::string, T, Compare>> = "object";
template <class T, class Hash, class Equal>
inline constexpr std::string_view kShape<std::unordered_map<std::string, T, Hash, Equal>> =
    "object";

// How the code reads a recorded value. One object for each type, made by the compiler.
struct ValueType {
  std::string_view name;                 // as the compiler writes it: for people
  std::string_view shape;                // recorded with what is waited for, and compared
  void (*check)(std::string_view json);  // throws when the text is no such value
};

template <class T>
void check_value([[maybe_unused]] std::string_view json) {
  if constexpr (!std::is_void_v<T>) from_json<T>(json);
}
template <class T>
inline constexpr ValueType kValueType{type_name<T>(), kShape<T>, &check_value<T>};

// A value that was recorded with one shape can be one of the other.
bool shapes_fit(std::string_view recorded, std::string_view now) noexcept;

// The value that is in the log is none of that type, for the reason that is being thrown: the task
// is stopped. Throws what a stopped task is unwound with.
[[noreturn]] void refuse_value(FlowState& flow, const ValueType& type, std::string_view what,
                               std::string_view json);
// For sentences: promise "approval#1".
std::string what_is(const Slot* slot);

// `what` is a call that gives what the value is of; made only when the value cannot be read.
template <class T, class What>
T decode(FlowState& flow, const std::string& json, const What& what) {
  if constexpr (!std::is_void_v<T>) {
    try {
      return from_json<T>(json);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (...) {
      refuse_value(flow, kValueType<T>, what(), json);
    }
  }
}

}  // namespace detail

}  // namespace tiffany

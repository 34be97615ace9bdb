// Codecs of single values: numbers, strings, enums, Uuid, durations, nothing. See base/codec.hpp.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <limits>
#include <ratio>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/outcome.hpp"
#include "tiffany/base/uuid.hpp"

namespace tiffany {

namespace detail {

void write_string(JsonWriter& out, std::string_view text);
void write_nanoseconds(JsonWriter& out, bool fits, std::int64_t count);
std::int64_t read_integer(JsonReader& in, std::int64_t low, std::int64_t high);
std::uint64_t read_unsigned(JsonReader& in, std::uint64_t high);
std::int64_t read_ticks(JsonReader& in, std::int64_t nanoseconds, std::int64_t low,
                        std::int64_t high);
Uuid read_uuid(JsonReader& in);

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

}  // namespace tiffany

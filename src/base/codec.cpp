#include "tiffany/base/codec.hpp"

#include "base/utf8.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::detail {
namespace {

void check_utf8(std::string_view text) {
  if (is_utf8(text)) return;
  throw Error(Errc::bad_argument,
              "A string that is not valid UTF-8 would not be the same when it is read from JSON: "
              "keep bytes in a std::vector<std::uint8_t>.");
}

// Where the value begins that comes next.
std::size_t begin_of_value(JsonReader& in) {
  in.kind();
  return in.offset();
}

std::string range(const std::string& low, const std::string& high) {
  return "an integer from " + low + " to " + high;
}

}  // namespace

void write_string(JsonWriter& out, std::string_view text) {
  check_utf8(text);
  out.value(text);
}

void write_name(JsonWriter& out, std::string_view name) {
  check_utf8(name);
  out.key(name);
}

void write_nanoseconds(JsonWriter& out, bool fits, std::int64_t count) {
  if (!fits) {
    throw Error(Errc::bad_argument,
                "A duration of more than 292 years cannot be counted in nanoseconds, which is how "
                "JSON has it.");
  }
  out.value(count);
}

std::int64_t read_integer(JsonReader& in, std::int64_t low, std::int64_t high) {
  const std::size_t begin = begin_of_value(in);
  const std::int64_t value = in.integer();
  if (value < low || value > high) in.fail(range(std::to_string(low), std::to_string(high)), begin);
  return value;
}

std::uint64_t read_unsigned(JsonReader& in, std::uint64_t high) {
  const std::size_t begin = begin_of_value(in);
  const std::uint64_t value = in.unsigned_integer();
  if (value > high) in.fail(range("0", std::to_string(high)), begin);
  return value;
}

std::int64_t read_ticks(JsonReader& in, std::int64_t nanoseconds, std::int64_t low,
                        std::int64_t high) {
  const std::size_t begin = begin_of_value(in);
  const std::int64_t value = in.integer();
  const std::int64_t ticks = value / nanoseconds;
  if (value % nanoseconds != 0 || ticks < low || ticks > high) {
    in.fail(
        "a multiple of " + std::to_string(nanoseconds) + " nanoseconds in the range of its type",
        begin);
  }
  return ticks;
}

Uuid read_uuid(JsonReader& in) {
  const std::size_t begin = begin_of_value(in);
  const std::optional<Uuid> uuid = Uuid::parse(in.string());
  if (!uuid) in.fail("a UUID", begin);
  return *uuid;
}

void expect_element(JsonReader& in) {
  if (!in.next_element()) in.fail("one more element", in.offset() - 1);
}

void expect_array_end(JsonReader& in) {
  if (in.next_element()) in.fail("the end of the array", in.offset());
}

void refuse_valueless() {
  throw Error(Errc::bad_argument,
              "A std::variant that lost its value to an exception cannot be written as JSON.");
}

void refuse_missing(std::string_view name, std::size_t object) {
  throw Error(Errc::bad_json, "The JSON object at byte " + std::to_string(object) +
                                  " has no member \"" + std::string(name) +
                                  "\", which was expected.");
}

}  // namespace tiffany::detail

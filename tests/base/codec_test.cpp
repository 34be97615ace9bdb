// Values become JSON and come back equal; what does not fit is refused with a sentence.
#include "tiffany/base/codec.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/base/time.hpp"

// Types as users have them: in their own namespace, or in none.
struct InNoNamespace {
  int x = 0;
  friend bool operator==(const InNoNamespace&, const InNoNamespace&) = default;
};
TIFFANY_JSON(InNoNamespace, x)

namespace shop {

enum class Colour : std::uint8_t { red, green = 7 };

struct Item {
  std::string name;
  int count = 0;
  friend bool operator==(const Item&, const Item&) = default;
};
TIFFANY_JSON(Item, name, count);

struct Order {
  struct Address {
    std::string city;
    friend bool operator==(const Address&, const Address&) = default;
  };
  std::uint64_t id = 0;
  Colour colour = Colour::red;
  std::vector<Item> items;
  Address address;
  std::optional<std::string> note;
  std::map<std::string, double> prices;
  friend bool operator==(const Order&, const Order&) = default;
};
TIFFANY_JSON(Order::Address, city);
TIFFANY_JSON(Order, id, colour, items, address, note, prices);

struct Tree {
  int value = 0;
  std::vector<Tree> kids;
  friend bool operator==(const Tree&, const Tree&) = default;
};
TIFFANY_JSON(Tree, value, kids);

struct Empty {};
TIFFANY_JSON(Empty);

struct Derived : Item {};

struct Many {
  int a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9, a10 = 10;
  int a11 = 11, a12 = 12, a13 = 13, a14 = 14, a15 = 15, a16 = 16, a17 = 17, a18 = 18, a19 = 19;
  int a20 = 20, a21 = 21, a22 = 22, a23 = 23, a24 = 24, a25 = 25, a26 = 26, a27 = 27, a28 = 28;
  int a29 = 29, a30 = 30, a31 = 31;
};
TIFFANY_JSON(Many, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17,
             a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31);

struct Uncoded {};

enum class Own { low, high };  // an enum, yet with a codec of its own

struct Both {  // with TIFFANY_JSON, and with a codec of its own
  int x = 0;
};
TIFFANY_JSON(Both, x);

}  // namespace shop

template <>
struct tiffany::Codec<shop::Own> {
  static void write(JsonWriter& out, shop::Own value) {
    out.value(value == shop::Own::low ? "low" : "high");
  }
  static shop::Own read(JsonReader& in) {
    in.kind();
    const std::size_t begin = in.offset();
    const std::string text = in.string();
    if (text != "low" && text != "high") in.fail("\"low\" or \"high\"", begin);
    return text == "low" ? shop::Own::low : shop::Own::high;
  }
};

template <>
struct tiffany::Codec<shop::Both> {
  static void write(JsonWriter& out, const shop::Both& value) { out.value(value.x); }
  static shop::Both read(JsonReader& in) { return {read_json<int>(in)}; }
};

namespace tiffany {
namespace codec_test {

using namespace std::chrono_literals;

template <class T>
std::string refusal(std::string_view text) {
  try {
    from_json<T>(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Errc::bad_json) << error.what();
    return error.what();
  }
  return "";
}

template <class T>
void expect_golden(const T& value, std::string_view text) {
  EXPECT_EQ(to_json(value), text);
  EXPECT_EQ(from_json<T>(text), value) << text;
}

shop::Order sample() {
  return {7,      shop::Colour::green, {{"tea", 2}, {"caf\xC3\xA9", -1}}, {"Ulm"},
          "a\"b", {{"tea", 2.5}}};
}
constexpr std::string_view kOrder =
    R"({"id":7,"colour":7,"items":[{"name":"tea","count":2},{"name":"caf)"
    "\xC3\xA9"
    R"(","count":-1}],"address":{"city":"Ulm"},"note":"a\"b","prices":{"tea":2.5}})";

TEST(Codec, ScalarsHaveTheirGoldenText) {
  expect_golden(true, "true");
  expect_golden(false, "false");
  expect_golden(-7, "-7");
  expect_golden('a', "97");
  expect_golden(std::numeric_limits<std::int64_t>::min(), "-9223372036854775808");
  expect_golden(std::numeric_limits<std::uint64_t>::max(), "18446744073709551615");
  expect_golden(std::int8_t{-128}, "-128");
  expect_golden(2.5, "2.5");
  expect_golden(0.1f, "0.1");
  expect_golden(std::string("a\nb"), R"("a\nb")");
  expect_golden(shop::Colour::green, "7");
  expect_golden(std::byte{255}, "255");
  expect_golden(Unit(), "null");
  expect_golden(std::monostate(), "null");
  expect_golden(*Uuid::parse("01234567-89ab-4cde-8f01-23456789abcd"),
                R"("01234567-89ab-4cde-8f01-23456789abcd")");
}

TEST(Codec, DurationsAreCountsOfNanoseconds) {
  expect_golden(Duration(1500), "1500");
  expect_golden(std::chrono::milliseconds(-3), "-3000000");
  expect_golden(std::chrono::hours(1), "3600000000000");
  expect_golden(std::chrono::nanoseconds::max(), "9223372036854775807");
  EXPECT_EQ(from_json<std::chrono::seconds>("2000000000"), 2s);
  EXPECT_NE(refusal<std::chrono::seconds>("2000000001"), "") << "half a second would be lost";
  using Tiny = std::chrono::duration<std::int8_t, std::micro>;
  EXPECT_EQ(from_json<Tiny>("127000").count(), 127);
  EXPECT_NE(refusal<Tiny>("128000"), "");
  EXPECT_THROW(to_json(std::chrono::hours::max()), Error);
  static_assert(!Coded<std::chrono::duration<double>>);
  static_assert(!Coded<std::chrono::duration<std::int64_t, std::pico>>);
}

TEST(Codec, ContainersHaveTheirGoldenText) {
  expect_golden(std::vector<int>{1, 2, 3}, "[1,2,3]");
  expect_golden(std::vector<int>{}, "[]");
  expect_golden(std::vector<bool>{true, false}, "[true,false]");
  expect_golden(std::array<int, 2>{4, 5}, "[4,5]");
  expect_golden(std::array<int, 0>{}, "[]");
  expect_golden(std::pair<int, std::string>(1, "a"), R"([1,"a"])");
  expect_golden(std::tuple<int, bool, std::string>(1, true, "a"), R"([1,true,"a"])");
  expect_golden(std::tuple<>(), "[]");
  expect_golden(std::tuple<std::tuple<int>>(5), "[[5]]");
  expect_golden(std::map<std::string, int>{{"b", 2}, {"a", 1}}, R"({"a":1,"b":2})");
  expect_golden(std::optional<int>(), "null");
  expect_golden(std::optional<int>(3), "3");
  expect_golden(std::variant<int, std::string>("x"), R"([1,"x"])");
  expect_golden(std::variant<int, std::string>(4), "[0,4]");
  expect_golden(std::variant<std::monostate, int>(), "[0,null]");
  expect_golden(std::variant<int, int>(std::in_place_index<1>, 4), "[1,4]");
}

TEST(Codec, AVariantThatLostItsValueCannotBeWritten) {
  using Names = std::array<std::string, 2>;
  struct Nothing {
    operator Names() const { throw std::runtime_error("nothing"); }
  };
  std::variant<int, Names> value;
  EXPECT_THROW(value.emplace<1>(Nothing()), std::runtime_error);
  ASSERT_TRUE(value.valueless_by_exception());
  EXPECT_THROW(to_json(value), Error);
}

TEST(Codec, AnOptionalOfWhatCanBeNullComesBackToo) {
  using Twice = std::optional<std::optional<int>>;
  expect_golden(Twice(), "null");
  expect_golden(Twice(std::optional<int>()), "[null]");
  expect_golden(Twice(std::optional<int>(1)), "[1]");
  expect_golden(std::optional<Unit>(), "null");
  expect_golden(std::optional<Unit>(Unit()), "[null]");
  expect_golden(std::optional<std::monostate>(std::monostate()), "[null]");
}

TEST(Codec, AnUnorderedMapIsWrittenInTheOrderOfItsNames) {
  std::unordered_map<std::string, int> map;
  std::unordered_map<std::string, int> reversed(1000);
  std::map<std::string, int> sorted;
  for (int i = 0; i < 200; ++i) map[std::to_string(i)] = sorted[std::to_string(i)] = i;
  for (int i = 199; i >= 0; --i) reversed[std::to_string(i)] = i;
  EXPECT_EQ(to_json(map), to_json(sorted));
  EXPECT_EQ(to_json(reversed), to_json(sorted));
  EXPECT_EQ((from_json<std::unordered_map<std::string, int>>(to_json(map))), map);
}

TEST(Codec, AStructIsAnObjectOfItsMembersInTheirOrder) {
  expect_golden(sample(), kOrder);
  expect_golden(InNoNamespace{3}, R"({"x":3})");
  expect_golden(
      shop::Tree{1, {{2, {}}, {3, {{4, {}}}}}},
      R"({"value":1,"kids":[{"value":2,"kids":[]},{"value":3,"kids":[{"value":4,"kids":[]}]}]})");
  EXPECT_EQ(to_json(shop::Empty()), "{}");
  from_json<shop::Empty>(R"({"what":"ever"})");
}

TEST(Codec, AStructMayHaveThirtyTwoMembers) {
  shop::Many many;
  many.a31 = 99;
  const std::string text = to_json(many);
  EXPECT_TRUE(text.starts_with(R"({"a0":0,"a1":1,)")) << text;
  EXPECT_TRUE(text.ends_with(R"("a30":30,"a31":99})")) << text;
  EXPECT_EQ(from_json<shop::Many>(text).a31, 99);
}

TEST(Codec, MembersAreReadInAnyOrderAndUnknownOnesAreSkipped) {
  EXPECT_EQ(from_json<shop::Item>(R"({"count":2,"new":[{"deep":"\u00e9"}],"name":"tea"})"),
            (shop::Item{"tea", 2}));
  EXPECT_EQ(from_json<shop::Item>(R"({"name":"a","name":"b","count":1})").name, "b");
}

TEST(Codec, AMissingMemberIsAnErrorThatNamesIt) {
  EXPECT_EQ(refusal<shop::Item>(R"( {"name":"tea"})"),
            R"(The JSON object at byte 1 has no member "count", which was expected.)");
  EXPECT_EQ(refusal<std::vector<shop::Item>>(R"([{"name":"tea","count":1},{"count":1}])"),
            R"(The JSON object at byte 26 has no member "name", which was expected.)");
}

TEST(Codec, AMissingOptionalIsEmpty) {
  const auto order =
      from_json<shop::Order>(R"({"id":1,"colour":0,"items":[],"address":{"city":""},"prices":{}})");
  EXPECT_EQ(order.note, std::nullopt);
}

TEST(Codec, ACodecOfTheUsersOwnWins) {
  expect_golden(shop::Own::high, R"("high")");
  expect_golden(std::vector<shop::Own>{shop::Own::low}, R"(["low"])");
  EXPECT_EQ(refusal<shop::Own>("\"mid\""),
            R"(The JSON text has "mid" at byte 0, where "low" or "high" was expected.)");
  EXPECT_EQ(to_json(shop::Both{4}), "4");
  EXPECT_EQ(from_json<shop::Both>("4").x, 4);
}

TEST(Codec, TheConceptSaysWhatHasACodec) {
  static_assert(Coded<int> && Coded<shop::Order> && Coded<shop::Order::Address> &&
                Coded<shop::Own>);
  static_assert(Coded<std::vector<std::optional<shop::Tree>>>);
  static_assert(!Coded<shop::Uncoded> && !Coded<std::vector<shop::Uncoded>> && !Coded<void>);
  static_assert(!Coded<std::variant<int, shop::Uncoded>> && !Coded<std::optional<shop::Uncoded>>);
  static_assert(!Coded<int*> && !Coded<const char*> && !Coded<int&> && !Coded<long double>);
  static_assert(!Coded<std::string_view>, "it would look at nothing");
  static_assert(!Coded<shop::Derived>, "the members of its base are not all of it");
}

TEST(Codec, IntegersOutsideOfTheirTypeAreRefused) {
  EXPECT_EQ(refusal<std::int8_t>("[128"),
            "The JSON text has [128 at byte 0, where an integer of 64 bits was expected.");
  EXPECT_EQ(refusal<std::int8_t>(" 128"),
            "The JSON text has 128 at byte 1, where an integer from -128 to 127 was expected.");
  EXPECT_EQ(refusal<std::int8_t>("127"), "");
  EXPECT_NE(refusal<std::int8_t>("-129"), "");
  EXPECT_NE(refusal<std::uint8_t>("256"), "");
  EXPECT_NE(refusal<std::uint8_t>("-1"), "");
  EXPECT_NE(refusal<int>("2147483648"), "");
  EXPECT_NE(refusal<shop::Colour>("256"), "");
  EXPECT_NE(refusal<int>("1.0"), "");
  EXPECT_NE(refusal<float>("1e39"), "");
}

TEST(Codec, WhatDoesNotFitTheTypeIsRefused) {
  EXPECT_NE(refusal<int>("1 2"), "") << "more than one value";
  EXPECT_NE(refusal<bool>("1"), "");
  EXPECT_NE(refusal<std::string>("null"), "");
  EXPECT_NE((refusal<std::array<int, 2>>("[1]")), "");
  EXPECT_EQ((refusal<std::array<int, 2>>("[1,2,3]")),
            "The JSON text has 3] at byte 5, where the end of the array was expected.");
  EXPECT_EQ((refusal<std::pair<int, int>>("[1]")),
            "The JSON text has ] at byte 2, where one more element was expected.");
  EXPECT_NE((refusal<std::tuple<>>("[1]")), "");
  EXPECT_NE((refusal<std::variant<int, bool>>("[2,1]")), "");
  EXPECT_NE((refusal<std::variant<int, bool>>("[0]")), "");
  EXPECT_NE((refusal<std::variant<int, bool>>("[0,1,2]")), "");
  EXPECT_NE((refusal<std::variant<int, bool>>("[0,true]")), "");
  EXPECT_EQ(refusal<Uuid>("\"x\""),
            R"(The JSON text has "x" at byte 0, where a UUID was expected.)");
  EXPECT_NE(refusal<Unit>("{}"), "");
  EXPECT_NE(refusal<shop::Item>("[]"), "");
}

TEST(Codec, WhatWouldNotComeBackTheSameIsNotWritten) {
  const auto refused = [](auto value) {
    try {
      to_json(value);
    } catch (const Error& error) {
      return error.code() == Errc::bad_argument;
    }
    return false;
  };
  EXPECT_TRUE(refused(std::string("\xFF")));
  EXPECT_TRUE(refused(std::map<std::string, int>{{"\xFF", 1}}));
  EXPECT_TRUE(refused(std::unordered_map<std::string, int>{{"\xC3", 1}}));
  EXPECT_TRUE(refused(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_TRUE(refused(std::vector<float>{std::numeric_limits<float>::infinity()}));
}

// Everything at once, from a seed.
using Anything = std::tuple<std::vector<std::optional<std::string>>, std::map<std::string, double>,
                            std::variant<std::monostate, std::int64_t, shop::Item>,
                            std::array<std::uint16_t, 3>, Uuid, Duration, float, shop::Tree>;

std::string random_text(Random& random) {
  constexpr const char* kPieces[] = {"a", "\"", "\\", "\n", "\x01", "\xC3\xBC", "\xF0\x9F\x98\x80"};
  std::string text;
  for (std::uint64_t i = random.below(8); i > 0; --i) text += kPieces[random.below(7)];
  return text;
}

double random_finite(Random& random) {
  for (;;) {
    const std::uint64_t bits = random.next();
    double number = 0;
    std::memcpy(&number, &bits, sizeof number);
    if (number - number == 0) return number;
  }
}

Anything random_value(Random& random) {
  Anything value;
  auto& [texts, numbers, choice, small, uuid, duration, single, tree] = value;
  for (std::uint64_t i = random.below(4); i > 0; --i) {
    texts.push_back(random.below(2) == 0 ? std::nullopt : std::optional(random_text(random)));
    numbers[random_text(random)] = random_finite(random);
    tree.kids.push_back({static_cast<int>(random.below(9)), {}});
  }
  if (random.below(3) == 0) choice = static_cast<std::int64_t>(random.next());
  if (random.below(3) == 0)
    choice = shop::Item{random_text(random), static_cast<int>(random.below(99))};
  for (std::uint16_t& item : small) item = static_cast<std::uint16_t>(random.next());
  uuid = Uuid::random(random);
  duration = Duration(static_cast<std::int64_t>(random.next()));
  single = static_cast<float>(random.below(1u << 30)) / 1e20f;
  return value;
}

TEST(Codec, RandomValuesComeBackEqualWithEqualBytes) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    const Anything value = random_value(random);
    const std::string text = to_json(value);
    const Anything read = from_json<Anything>(text);
    ASSERT_EQ(read, value) << "seed " << seed << ": " << text;
    ASSERT_EQ(to_json(read), text) << "seed " << seed;
  }
}

TEST(Codec, EveryTruncationOfADocumentIsRefused) {
  for (std::size_t size = 0; size < kOrder.size(); ++size) {
    EXPECT_NE(refusal<shop::Order>(kOrder.substr(0, size)), "") << size;
  }
}

TEST(Codec, EveryChangedByteOfADocumentGivesAValueOrBadJson) {
  std::string text(kOrder);
  int values = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char good = text[at];
    for (int byte = 0; byte < 256; ++byte) {
      text[at] = static_cast<char>(byte);
      if (refusal<shop::Order>(text).empty()) ++values;
    }
    text[at] = good;
  }
  EXPECT_GT(values, static_cast<int>(text.size())) << "letters of strings and digits may change";
}

}  // namespace codec_test
}  // namespace tiffany

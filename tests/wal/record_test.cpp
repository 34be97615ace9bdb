#include "tiffany/wal/record.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tiffany/base/crc32c.hpp"
#include "tiffany/base/json_reader.hpp"
#include "wal/golden_lines.hpp"

namespace tiffany::wal::test {
namespace record_test {

Entry entry_of(const Golden& golden) {
  return Entry{golden.type, golden.task, golden.payload,     golden.seq,  golden.tid,
               1200345,     golden.file, golden.source_line, golden.cause};
}

std::string line_of(const Entry& entry, std::uint32_t seed = 0, bool first = false) {
  std::string line;
  append_line(line, entry, kTs, seed, first);
  EXPECT_EQ(line.back(), '\n');
  line.pop_back();
  return line;
}

// With a checksum that is right, whatever the rest is.
std::string sealed(std::string text, std::uint32_t seed = 0) {
  char crc[9];
  std::snprintf(crc, sizeof crc, "%08x", crc32c(text, seed));
  return text + ",\"crc\":\"" + crc + "\"}";
}

std::vector<std::string> members_of(std::string_view json) {
  std::vector<std::string> names;
  JsonReader in(json);
  in.begin_object();
  for (std::string name; in.next_member(name); in.raw()) names.push_back(name);
  in.end();
  return names;
}

TEST(WalRecordTest, D1_EveryTypeHasAGoldenLine) {
  std::set<RecordType> types;
  for (const Golden& golden : kGolden) {
    types.insert(golden.type);
    EXPECT_EQ(line_of(entry_of(golden)), golden.line);
  }
#define X(name, meaning) EXPECT_TRUE(types.contains(RecordType::name)) << #name;
  TIFFANY_RECORDS(X)
#undef X
}

TEST(WalRecordTest, D1_EveryGoldenLineIsReadBack) {
  for (const Golden& golden : kGolden) {
    RecordView view;
    ASSERT_EQ(read_line(golden.line, 0, view), LineFault::none) << golden.line;
    EXPECT_EQ(view.type, golden.type);
    EXPECT_EQ(view.type_name, name_of(golden.type));
    EXPECT_EQ(view.ts, kTs);
    EXPECT_EQ(view.task, golden.task);
    EXPECT_EQ(view.payload, golden.payload);
    EXPECT_EQ(view.seq, golden.seq);
    EXPECT_FALSE(view.first_of_batch);
    EXPECT_EQ(view.line, golden.line);
  }
}

TEST(WalRecordTest, D1_EveryGoldenLineIsAJsonObjectWithTheMembersInTheirOrder) {
  for (const Golden& golden : kGolden) {
    const std::vector<std::string> names = members_of(golden.line);
    const std::vector<std::string> front(names.begin(), names.begin() + 4);
    EXPECT_EQ(front, (std::vector<std::string>{"v", "ts", "type", "task_id"}));
    EXPECT_EQ(names.back(), "crc");
    std::vector<std::string> expected = front;
    if (!golden.payload.empty()) {
      for (std::string& name : members_of("{" + std::string(golden.payload) + "}")) {
        expected.push_back(std::move(name));
      }
    }
    for (const char* name : {"seq", "tid", "vt"}) expected.push_back(name);
    if (!golden.file.empty()) expected.push_back("loc");
    if (golden.cause != 0) expected.push_back("cause");
    expected.push_back("crc");
    EXPECT_EQ(names, expected);
  }
}

TEST(WalRecordTest, D1_AGoldenLineOfATypeThatNobodyKnowsIsReadAndCopiedAsItIs) {
  for (const Golden& golden : kGoldenUnknown) {
    RecordView view;
    ASSERT_EQ(read_line(golden.line, 0, view), LineFault::none) << golden.line;
    EXPECT_EQ(view.type, RecordType::unknown);
    EXPECT_NE(golden.line.find("\"type\":\"" + std::string(view.type_name) + "\""),
              std::string_view::npos);
    EXPECT_EQ(view.task, golden.task);
    EXPECT_EQ(view.payload, golden.payload);
    EXPECT_EQ(view.seq, golden.seq);
    std::string copy = reseeded(golden.line, 77);
    copy.pop_back();
    EXPECT_EQ(reseeded(copy, 0), std::string(golden.line) + "\n");
  }
}

TEST(WalRecordTest, D1_TheFirstLineOfABatchBeginsWithASpaceThatTheChecksumCovers) {
  for (const Golden& golden : kGolden) {
    const std::string line = line_of(entry_of(golden), 0, true);
    ASSERT_EQ(line.front(), ' ');
    RecordView view;
    ASSERT_EQ(read_line(line, 0, view), LineFault::none);
    EXPECT_TRUE(view.first_of_batch);
    EXPECT_EQ(view.payload, golden.payload);
    EXPECT_EQ(read_line(line.substr(1), 0, view), LineFault::checksum);
    EXPECT_EQ(read_line(" " + std::string(golden.line), 0, view), LineFault::checksum);
  }
}

TEST(WalRecordTest, D1_ALineIsRightOnlyWithTheSeedOfItsFile) {
  for (const Golden& golden : kGolden) {
    RecordView view;
    const std::string line = line_of(entry_of(golden), 77, true);
    EXPECT_EQ(read_line(line, 77, view), LineFault::none);
    EXPECT_EQ(read_line(line, 0, view), LineFault::checksum);
    EXPECT_EQ(reseeded(line, 0), std::string(golden.line) + "\n");
  }
}

TEST(WalRecordTest, D1_APayloadMayHoldMembersOfTheSameNamesAsTheRecord) {
  const std::string payload =
      R"("value":{"a":1,"seq":99,"crc":"00000000"},"text":",\"seq\":5","list":[{"b":2,"seq":3}])";
  const Entry entry{RecordType::Resumed, kId, payload, 8, 1, 5, R"(odd",\"seq\":4.cpp)", 3, 2};
  const std::string line = line_of(entry);
  RecordView view;
  ASSERT_EQ(read_line(line, 0, view), LineFault::none);
  EXPECT_EQ(view.payload, payload);
  EXPECT_EQ(view.seq, 8u);
  EXPECT_EQ(members_of(line).back(), "crc");
}

TEST(WalRecordTest, D1_ARecordOfAnUnknownTypeIsReadAndHasNoMeaning) {
  const std::string line =
      sealed(R"({"v":1,"ts":")" + std::string(kTs) + R"(","type":"Dream","task_id":")" +
             std::string(kId) + R"(","of":"sheep","seq":4,"tid":1,"vt":5)");
  RecordView view;
  ASSERT_EQ(read_line(line, 0, view), LineFault::none);
  EXPECT_EQ(view.type, RecordType::unknown);
  EXPECT_EQ(view.type_name, "Dream");
  EXPECT_EQ(view.payload, R"("of":"sheep")");
  EXPECT_EQ(view.seq, 4u);
}

TEST(WalRecordTest, D1_ARecordOfAnotherVersionIsTold) {
  for (const char* version : {"0", "2", "12", "18446744073709551615"}) {
    RecordView view;
    EXPECT_EQ(
        read_line(sealed("{\"v\":" + std::string(version) + R"(,"anything":"else")"), 0, view),
        LineFault::version);
  }
}

TEST(WalRecordTest, D2_EveryBitThatIsFlippedInALineIsFound) {
  for (const Golden& golden : kGolden) {
    for (std::size_t bit = 0; bit < golden.line.size() * 8; ++bit) {
      std::string line(golden.line);
      line[bit / 8] = static_cast<char>(line[bit / 8] ^ (1 << bit % 8));
      // The digits of the checksum may be of either case.
      if (bit / 8 >= line.size() - 10 && bit / 8 < line.size() - 2 && bit % 8 == 5 &&
          line[bit / 8] >= 'A' && line[bit / 8] <= 'F') {
        continue;
      }
      RecordView view;
      EXPECT_NE(read_line(line, 0, view), LineFault::none) << line;
    }
  }
}

TEST(WalRecordTest, D2_ALineWithOneWrongBitCanBeMended) {
  for (const Golden& golden : kGolden) {
    for (const std::uint32_t seed : {0u, 77u}) {
      const std::string right = line_of(entry_of(golden), seed);
      std::size_t times = 0;
      for (std::size_t bit = 0; bit < right.size() * 8; ++bit) {
        std::string line = right;
        line[bit / 8] = static_cast<char>(line[bit / 8] ^ (1 << bit % 8));
        const std::optional<std::string> again = mended(line, seed);
        times += again ? 1 : 0;
        EXPECT_EQ(again.value_or(right), right);
        if (again) {
          line[20] = '?';
          EXPECT_EQ(mended(line, seed), std::nullopt) << line;
        }
      }
      EXPECT_GT(times, (right.size() - 30) * 8);
      EXPECT_EQ(mended(right, seed), std::nullopt);
    }
  }
}

TEST(WalRecordTest, D2_NoPartOfALineIsALine) {
  for (const Golden& golden : kGolden) {
    for (std::size_t size = 0; size < golden.line.size(); ++size) {
      RecordView view;
      EXPECT_NE(read_line(golden.line.substr(0, size), 0, view), LineFault::none);
      if (size > 0) {
        EXPECT_NE(read_line(golden.line.substr(size), 0, view), LineFault::none);
      }
    }
  }
}

TEST(WalRecordTest, D2_ALineWithARightChecksumAndAWrongFormIsNoRecord) {
  const std::string ts(kTs);
  const std::string id(kId);
  const std::string wrong[] = {
      R"({"v":1)",
      R"({"v":1,"ts":"2026")",
      R"({"v":1,"ts":")" + ts + R"(","kind":"Spawn","task_id":")" + id + R"(","seq":1)",
      R"({"v":1,"ts":")" + ts + R"(","type":"Spawn)",
      R"({"v":1,"ts":")" + ts + R"(","type":"Spawn","task_id":"6f1c)",
      R"({"v":1,"ts":")" + ts + R"(","type":"Spawn","task_id":")" + id + R"(x","seq":1)",
      R"({"v":1,"ts":")" + ts + R"(","type":"Spawn","task_id":")" + id + R"(","tid":1)",
      R"({"v":1,"ts":")" + ts + R"(","type":"Spawn","task_id":")" + id + R"(","seq":-1)",
      R"({"v":1,"ts":")" + ts + R"(","type":"Spawn","task_id":")" + id + R"(","seq":)",
      R"({"v":-1)",
      R"({"v":)",
      R"({"v":99999999999999999999)",
      R"({)",
      ""};
  for (const std::string& text : wrong) {
    RecordView view;
    EXPECT_EQ(read_line(sealed(text), 0, view), LineFault::not_a_record) << text;
  }
}

TEST(WalRecordTest, D1_TimesAreReadBackAsTheyWereWritten) {
  for (const std::int64_t time :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{951'782'400'000'000},
        std::int64_t{951'868'799'999'999}, std::int64_t{1'763'279'280'123'456},
        std::int64_t{4'107'542'400'000'000}, std::int64_t{253'402'300'799'999'999}}) {
    EXPECT_EQ(parse_time(text_of_time(time)), time) << text_of_time(time);
    EXPECT_EQ(text_of_time(time).size(), 27u);
  }
  EXPECT_EQ(text_of_time(951'782'400'000'000), "2000-02-29T00:00:00.000000Z");
  for (const char* text : {"", "2026-11-16T07:48:00.123456", "2026-13-16T07:48:00.123456Z",
                           "2026-11-32T07:48:00.123456Z", "2026-11-16T24:48:00.123456Z",
                           "2026-11-16 07:48:00.123456Z", "2026-11-16T07:60:00.123456Z",
                           "2026-11-16T07:48:60.123456Z", "2O26-11-16T07:48:00.123456Z"}) {
    EXPECT_EQ(parse_time(text), std::nullopt) << text;
  }
}

TEST(WalRecordTest, D1_EveryTypeIsFoundByItsName) {
#define X(name, meaning)                           \
  EXPECT_EQ(record_type(#name), RecordType::name); \
  EXPECT_EQ(name_of(RecordType::name), std::string_view(#name));
  TIFFANY_RECORDS(X)
#undef X
  EXPECT_EQ(record_type("Dream"), RecordType::unknown);
  EXPECT_EQ(record_type(""), RecordType::unknown);
}

}  // namespace record_test
}  // namespace tiffany::wal::test

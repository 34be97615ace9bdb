// Members of records, as they are written: each has a golden line (tests/wal/golden_lines.hpp).
#include "../../src/durable/records.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "tiffany/tiffany.hpp"
#include "tiffany/wal/log_options.hpp"
#include "tiffany/wal/memory_disk.hpp"
#include "wal/golden_lines.hpp"

namespace tiffany {
namespace records_test {

using detail::Failure;
using detail::Fields;

const Uuid kOther = *Uuid::parse("1c9f0e52-4a3e-4b1c-9d1f-0123456789ab");
constexpr const char* kHash = "5f0c9a1be2d34476";
constexpr const char* kUntil = "2026-11-17T07:48:00.123456Z";

bool golden(std::string_view payload) {
  return std::any_of(std::begin(wal::test::kGolden), std::end(wal::test::kGolden),
                     [&](const wal::test::Golden& each) { return each.payload == payload; });
}

Failure failure(std::string type, int code) {
  Failure made;
  made.type = std::move(type);
  made.code = code;
  return made;
}

// Calls `test` with a store, which short values do not need.
template <class F>
void with_store(F test) {
  Scheduler scheduler(Options().virtual_time());
  wal::LogOptions options("wal");
  options.disk = std::make_shared<wal::MemoryDisk>();
  const auto body = [&]() -> Task<void> {
    const std::shared_ptr<wal::RecordStore> store = co_await wal::claim_store(options);
    test(*store);
    co_await store->close();
  };
  const Handle<void> handle = scheduler.spawn(body);
  scheduler.run();
  EXPECT_TRUE(handle.done());
}

TEST(Records, AStartWithEverythingThatItMaySayIsAGoldenLine) {
  with_store([](wal::RecordStore&) {
    records::Spawn::Marks marks;
    marks.key = "Ada";
    marks.priority = 3;
    marks.until = *wal::parse_time(kUntil);
    marks.attributes = R"({"customer":"Ada","vip":true})";
    marks.at_end = "abandon";
    std::string payload;
    records::Spawn::write(payload, "order", 1, 1, "[7]", kOther, marks);
    EXPECT_TRUE(golden(payload)) << payload;
    const records::Spawn read = records::Spawn::read(Fields(payload));
    EXPECT_EQ(read.parent, kOther);
    EXPECT_EQ(read.marks.key, "Ada");
    EXPECT_EQ(read.marks.priority, 3);
    EXPECT_EQ(read.marks.until, marks.until);
    EXPECT_EQ(read.marks.attributes, marks.attributes);
    EXPECT_EQ(read.marks.at_end, "abandon");
  });
}

TEST(Records, AnAttributeIsAGoldenLine) {
  std::string payload;
  records::Asked::attribute(payload, "attribute stage#1", "stage", R"("shipping")", kHash);
  EXPECT_TRUE(golden(payload)) << payload;
  const records::Asked read = records::Asked::read(Fields(payload));
  EXPECT_TRUE(read.by_code());
  EXPECT_EQ(read.id, "attribute stage#1");
}

// A line of the log is one JSON object: no member of it comes twice.
TEST(Records, WhatIsWaitedForIsGoldenLinesWithoutASecondMemberOfOneName) {
  std::string payload;
  records::Asked::promise(payload, "approval#1", kOther, "boolean");
  EXPECT_TRUE(golden(payload)) << payload;
  EXPECT_EQ(records::Asked::read(Fields(payload)).shape, "boolean");
  records::Asked::child(payload, "digest#1", kOther, kHash, "object");
  EXPECT_TRUE(golden(payload)) << payload;
  EXPECT_EQ(records::Asked::read(Fields(payload)).shape, "object");
  EXPECT_EQ(records::Asked::read(Fields(payload)).uuid, kOther);
  records::Asked::signal(payload, "signal changed#1", "number", "within");
  EXPECT_TRUE(golden(payload)) << payload;
  EXPECT_EQ(records::Asked::read(Fields(payload)).shape, "number");
}

TEST(Records, TheNameThatOlderLogsHaveForWhatIsWaitedForIsRead) {
  const Fields older(R"("op":"signal","id":"signal changed#1","type":"number")");
  EXPECT_EQ(records::Asked::read(older).shape, "number");
}

TEST(Records, AnUpdateAndItsAnswersAreGoldenLines) {
  with_store([](wal::RecordStore& store) {
    std::string payload;
    records::Sent::write_update(payload, store, "add", kOther.text(),
                                R"({"item":"tea","count":2})");
    EXPECT_TRUE(golden(payload)) << payload;
    const std::optional<records::Sent> sent = records::Sent::read(Fields(payload));
    ASSERT_TRUE(sent.has_value());
    EXPECT_EQ(sent->what, records::Sent::What::update);
    EXPECT_EQ(sent->name, "add");
    EXPECT_EQ(sent->update, kOther.text());
    const std::string id = "update " + kOther.text();
    records::Asked::answer(payload, store, id, kHash, "12", false, Failure());
    EXPECT_TRUE(golden(payload)) << payload;
    EXPECT_TRUE(records::Asked::read(Fields(payload)).by_code());
    EXPECT_EQ(records::Result::read(Fields(payload)).value, "12");
    records::Asked::answer(payload, store, id, kHash, "thirteen", true,
                           failure("tiffany::Error", 4));
    EXPECT_TRUE(golden(payload)) << payload;
    EXPECT_EQ(records::Result::read(Fields(payload)).failure.code, 4);
  });
}

TEST(Records, ACheckpointWithEverythingThatItKeepsIsAGoldenLine) {
  with_store([](wal::RecordStore& store) {
    const std::string updates = R"([[")" + kOther.text() + R"(","add",5]])";
    const std::string answers = R"([[")" + kOther.text() + R"(",")" + kHash + R"(",0,12,"",0]])";
    std::string payload;
    records::Checkpoint::write(payload, store, R"({"n":100})", 2, R"([["changed",7]])", false,
                               "enough", R"({"stage":"shipping"})", updates, answers);
    EXPECT_TRUE(golden(payload)) << payload;
    const records::Checkpoint read = records::Checkpoint::read(Fields(payload));
    EXPECT_EQ(read.attributes, R"({"stage":"shipping"})");
    EXPECT_EQ(read.updates, updates);
    EXPECT_EQ(read.answers, answers);
  });
}

TEST(Records, WhatWasThrownIsInGoldenLines) {
  with_store([](wal::RecordStore& store) {
    std::string payload;
    const Failure declined = failure("Declined", 0);
    records::Result::write_of_step(payload, store, "charge#1", "5f", "The card was refused.", true,
                                   false, 3, &declined);
    EXPECT_TRUE(golden(payload)) << payload;
    EXPECT_EQ(records::Result::read(Fields(payload)).failure.type, "Declined");
    EXPECT_EQ(records::Result::read(Fields(payload)).failure.attempts, 3);
    const Failure error = failure("tiffany::Error", 312);
    records::Result::write_of_step(payload, store, "charge#1", "", "The bank is closed.", true,
                                   true, 1, &error);
    EXPECT_TRUE(golden(payload)) << payload;
    records::Result::write(payload, store, "ship#1", "The parcel is lost.", true, &error);
    EXPECT_TRUE(golden(payload)) << payload;
    EXPECT_EQ(records::Result::read(Fields(payload)).failure.code, 312);
    const Failure both = failure("Declined", 312);
    records::End::abort(payload, "failed", "The card was refused.", kHash, &both);
    EXPECT_TRUE(golden(payload)) << payload;
    EXPECT_EQ(records::End::read(Fields(payload)).failure.type, "Declined");
  });
}

TEST(Records, WhoPausedATaskAndWhyIsAGoldenLine) {
  EXPECT_TRUE(golden(records::Asked::pause(Actor("token:ann", "the bank is down"))));
  EXPECT_EQ(records::Asked::pause(Actor()), R"("op":"pause","by":"operator")") << "as of old";
  EXPECT_EQ(records::Asked::retry("a#1", Actor()), R"("op":"retry","from":"a#1")");
  EXPECT_EQ(records::members_of(Actor("a\"b", "")), R"(,"by":"a\"b")");
}

}  // namespace records_test
}  // namespace tiffany

// Values that are too long for a line of the log.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "durable/durable_world.hpp"
#include "durable/waiting_disk.hpp"

namespace tiffany {
namespace values_test {

using namespace std::chrono_literals;

class ValuesTest : public DurableWorld {
 protected:
  ValuesTest() {
    types_ = [] {
      Registry types;
      types.add("grow", 1, &ValuesTest::grow);
      types.add("measure", 1, &ValuesTest::measure);
      return types;
    };
  }
  static Durable<std::string> grow(Flow& flow, std::string seed) {
    const std::string all =
        co_await flow.step("grow", [&] { return seed + std::string(300'000, 'x'); });
    const std::string more = co_await flow.signal<std::string>("more");
    co_return all + more;
  }
  static Durable<std::size_t> measure(Flow& flow) {
    const std::string more = co_await flow.signal<std::string>("more");
    co_await flow.sleep(1h);
    co_return more.size();
  }
  std::string values() const { return directory_ + "/wal/values"; }
  std::size_t count() const {
    std::size_t n = 0;
    for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(values())) ++n;
    return n;
  }
};
TIFFANY_ON_EVERY_LAYOUT(ValuesTest);

TEST_P(ValuesTest, D1_LongValuesLieBesideTheLogAndComeBackWhole) {
  const std::string seed(100'000, 's');
  const std::string more(70'000, 'm');
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("grow", seed);
    co_await sleep(1s);
  });
  EXPECT_EQ(count(), 2u);  // the arguments, the result of the step
  live([&](Host& host) -> Task<void> {
    co_await host.signal(id, "more", more);
    const std::string result = co_await host.result<std::string>(id);
    EXPECT_EQ(result, seed + std::string(300'000, 'x') + more);
  });
  EXPECT_EQ(count(), 4u);
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ((co_await host.result<std::string>(id)).size(), 470'000u);
  });
}

TEST_P(ValuesTest, D5_AValueIsRemovedWhenNeitherTheLogNorTheArchiveNamesIt) {
  const std::string seed(100'000, 's');
  live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("grow", seed);
    co_await host.signal(id, "more", std::string("m"));
    co_await host.result<std::string>(id);
    const Uuid other = co_await host.start("grow", seed + "t");
    co_await sleep(1s);
    EXPECT_EQ(count(), 5u);
    EXPECT_EQ((co_await host.compact()).values, 0u);
    EXPECT_EQ(count(), 5u) << "the archive names them";
    Retention nothing;
    nothing.bytes = 0;
    EXPECT_EQ((co_await host.compact(nothing)).values, 3u);
    EXPECT_EQ(count(), 2u) << "those of the task that has not ended";
    co_await host.signal(other, "more", seed);  // once more, after it was removed
    EXPECT_EQ((co_await host.result<std::string>(other)).size(), 500'001u);
  });
}

TEST_P(ValuesTest, D5_AValueThatComesWhileOthersAreRemovedStays) {
  const std::string more(70'000, 'm');
  for (const int time : {60, 64, 67, 69, 90, 96, 99, 101, 104}) {
    const auto disk = std::make_shared<WaitingDisk>();
    disk->directory_time = 7;
    disk_ = disk;
    Uuid id;
    live([&](Host& host) -> Task<void> {
      const Uuid old = co_await host.start("measure");
      co_await host.signal(old, "more", more);
      co_await host.result<std::size_t>(old);
      id = co_await host.start("measure");
      Retention nothing;
      nothing.bytes = 0;
      auto compaction = spawn([&]() -> Task<void> { co_await host.compact(nothing); });
      co_await sleep(time * 1ms);
      co_await host.signal(id, "more", more);  // what is being removed, perhaps
      co_await compaction;
    });
    live([&](Host& host) -> Task<void> {
      EXPECT_TRUE(recovery.notes.empty()) << time << recovery.text();
      EXPECT_EQ(co_await host.result<std::size_t>(id), more.size()) << time;
    });
  }
}

TEST_P(ValuesTest, D4_ATaskWhoseValueWasChangedDoesNotRun) {
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("grow", "s");
    co_await sleep(1s);
  });
  for (const auto& file : std::filesystem::directory_iterator(values())) {
    std::fstream(file.path(), std::ios::in | std::ios::out | std::ios::binary) << "y";
  }
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(host.info(id)->status, DurableStatus::quarantined);
    EXPECT_NE(host.info(id)->detail.find("does not hold what its name says"), std::string::npos)
        << host.info(id)->detail;
    co_return;
  });
  EXPECT_EQ(recovery.quarantined, 1u);
}

TEST_P(ValuesTest, D4_AResumeThatFindsItsValueGoneFailsWithASentenceAndTheHostGoesOn) {
  Uuid id;
  live([&](Host& host) -> Task<void> {
    id = co_await host.start("grow", "s");
    co_await sleep(1s);
    co_await host.pause(id);
  });
  std::filesystem::remove_all(values());
  live([&](Host& host) -> Task<void> {
    EXPECT_EQ(recovery.paused, 1u);
    Errc failed{};
    try {
      co_await host.resume(id);
    } catch (const Error& error) {
      failed = error.code();
    }
    EXPECT_EQ(failed, Errc::log_damaged);
    EXPECT_EQ(host.info(id)->status, DurableStatus::quarantined);
    const Uuid other = co_await host.start("grow", "t");
    co_await host.signal(other, "more", std::string("m"));
    EXPECT_EQ((co_await host.result<std::string>(other)).size(), 300'002u);
    co_await host.close();
  });
}

}  // namespace values_test
}  // namespace tiffany

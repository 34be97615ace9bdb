// Values that are too long for a line of the log.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "durable/durable_world.hpp"

namespace tiffany {
namespace {

using namespace std::chrono_literals;

class ValuesTest : public DurableWorld {
 protected:
  ValuesTest() {
    types_ = [] {
      Registry types;
      types.add("grow", 1, &ValuesTest::grow);
      return types;
    };
  }
  static Durable<std::string> grow(Flow& flow, std::string seed) {
    const std::string all =
        co_await flow.step("grow", [&] { return seed + std::string(300'000, 'x'); });
    const std::string more = co_await flow.signal<std::string>("more");
    co_return all + more;
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

}  // namespace
}  // namespace tiffany

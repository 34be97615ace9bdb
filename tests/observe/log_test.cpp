#include "tiffany/observe/log.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "tiffany/base/json.hpp"
#include "tiffany/base/json_reader.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::log_test {

namespace log = observe::log;
using namespace std::chrono_literals;

// Lines go into a pipe, and what came out of it is looked at.
class LogTest : public ::testing::Test {
 protected:
  LogTest() {
    EXPECT_EQ(::pipe(ends_), 0);
    EXPECT_EQ(::fcntl(ends_[0], F_SETFL, O_NONBLOCK), 0);
    settings_.descriptor = ends_[1];
    log::configure(settings_);
    log::set_levels("info");
  }
  ~LogTest() override {
    log::configure(log::Settings());
    ::close(ends_[0]);
    ::close(ends_[1]);
  }

  void configure(log::Format format, std::uint32_t most_per_second = 1000) {
    settings_.format = format;
    settings_.most_per_second = most_per_second;
    log::configure(settings_);
  }
  std::string written() {
    log::flush();
    std::string all;
    char part[4096];
    for (ssize_t count; (count = ::read(ends_[0], part, sizeof part)) > 0;) {
      all.append(part, static_cast<std::size_t>(count));
    }
    return all;
  }
  // Without its time and place, which no test can know.
  static std::string plain(std::string line) {
    const std::size_t time = line.find(R"("timestamp":")");
    if (time != std::string::npos) line.replace(time + 13, 27, "T");
    const std::size_t place = line.find(R"("loc":"log_test.cpp:)");
    if (place != std::string::npos) {
      const std::size_t begin = line.find(':', place + 8) + 1;
      line.replace(begin, line.find('"', begin) - begin, "N");
    }
    return line;
  }

  int ends_[2] = {-1, -1};
  log::Settings settings_;
};

TEST_F(LogTest, ALineIsOneJsonObjectWithTheFieldsOfTheSchema) {
  log::info("order shipped", {{"order", 7},
                              {"weight", 2.5},
                              {"express", true},
                              {"to", "Ann"},
                              {"far", std::uint64_t{18446744073709551615u}},
                              {"took", Duration(std::chrono::milliseconds(1500))}});
  const std::string line = written();
  EXPECT_EQ(plain(line),
            R"({"timestamp":"T","level":"INFO","target":"app","message":"order shipped",)"
            R"("fields":{"order":7,"weight":2.5,"express":true,"to":"Ann",)"
            R"("far":18446744073709551615,"took":1.5,"loc":"log_test.cpp:N"}})"
            "\n");
  const std::size_t at = line.find("\"20");
  ASSERT_NE(at, std::string::npos);
  EXPECT_EQ(line[at + 11], 'T');
  EXPECT_EQ(line[at + 20], '.');
  EXPECT_EQ(line[at + 27], 'Z');
}

TEST_F(LogTest, NothingInATextCanEndALineOrAString) {
  log::info("a\nb\"c\\d\x01 \xff", {{"k\"", "\x1b[31m"}, {"nan", std::nan("")}});
  const std::string line = written();
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  EXPECT_NE(line.find(R"("message":"a\nb\"c\\d\u0001 )"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("k\"":"\u001b[31m","nan":"NaN")"), std::string::npos) << line;
  EXPECT_EQ(compact_json(line.substr(0, line.size() - 1)), line.substr(0, line.size() - 1));
}

// Texts are copied and looked at in words, whose ends overlap.
TEST_F(LogTest, TextsOfEveryLengthAreWrittenAsJsonHasThem) {
  configure(log::Format::json, 0);
  std::string expected;
  std::string all;
  const auto write = [&](const std::string& text) {
    log::info("m", {{"text", text}});
    expected += "\"text\":";
    JsonWriter(expected).value(text);
    expected += '\n';
    const std::string line = written();
    const std::size_t begin = line.find("\"text\":");
    all += line.substr(begin, line.rfind(",\"loc\"") - begin) + '\n';
  };
  for (std::size_t size = 0; size <= 20; ++size) {
    write(std::string(size, '~'));
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, ' ');
      text[at] = "\"\\\x1f\x7f\n\xc3"[(size + at) % 6];
      if (text[at] == '\xc3') text.insert(at + 1, "\xa4");
      write(text);
    }
  }
  EXPECT_EQ(all, expected);
}

TEST_F(LogTest, NumbersAreWrittenInTheirShortestForm) {
  configure(log::Format::json, 0);
  Random random(3);
  std::vector<double> numbers{0.0,    -0.0,   0.001,   0.0004, 0.1,     1.0,       -2.5,
                              99999., 100000, 99999.9, 1e22,   10000.0, 1234.5678, -99999.999,
                              1e-7,   0.999,  1e15,    20000., 0.0015,  99999.9996};
  for (int i = 0; i < 300; ++i) {
    numbers.push_back(static_cast<double>(random.below(200'000'000)) / 1000);
    numbers.push_back(std::ldexp(static_cast<double>(random.next()), -60 + i % 40));
  }
  for (const double number : numbers) {
    log::info("m", {{"n", number}});
    char digits[64];
    const std::string shortest(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    EXPECT_NE(written().find("\"n\":" + shortest + ","), std::string::npos) << shortest;
  }
}

TEST_F(LogTest, ATaskIsNamedAndSharesItsFieldsWithThoseItSpawns) {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn([]() -> Task<void> {
    log::SharedFields shared;
    shared.emplace_back("request", "r-1");
    co_await with(log::kFields, shared, [&]() -> Task<void> {
      auto child = spawn([]() -> Task<void> {
                     log::info("from a child");
                     co_return;
                   }).named("worker");
      co_await child;
    });
  });
  scheduler.run();
  const std::string line = plain(written());
  EXPECT_NE(line.find(R"("fields":{"request":"r-1","tid":2,"task":"worker","loc")"),
            std::string::npos)
      << line;
}

TEST_F(LogTest, UnderAVirtualClockTheTimeIsThatOfTheScheduler) {
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn([]() -> Task<void> {
    co_await sleep(90s);
    log::info("later");
  });
  scheduler.run();
  EXPECT_NE(written().find(R"("timestamp":"1970-01-01T00:01:30.000000Z")"), std::string::npos);
}

TEST_F(LogTest, LevelsAreByTargetAndTheLongestOneCounts) {
  const log::Logger shop("shop");
  const log::Logger mail("shop::mail");
  const log::Logger shopping("shopping");
  log::set_levels("warn,shop=debug,shop::mail=error");
  EXPECT_TRUE(shop.enabled(log::Level::debug));
  EXPECT_FALSE(shop.enabled(log::Level::trace));
  EXPECT_FALSE(mail.enabled(log::Level::warn));
  EXPECT_FALSE(shopping.enabled(log::Level::info));
  EXPECT_TRUE(log::app().enabled(log::Level::warn));
  EXPECT_EQ(log::levels(), "warn,shop=debug,shop::mail=error");
  log::set_levels("TRACE");  // at run time, and for loggers that have looked before
  EXPECT_TRUE(mail.enabled(log::Level::trace));
  mail.trace("seen");
  EXPECT_NE(written().find(R"("level":"TRACE","target":"shop::mail")"), std::string::npos);
}

TEST_F(LogTest, BadLevelsAreRefusedAndChangeNothing) {
  log::set_levels("warn");
  for (const char* bad : {"loud", "shop=", "info,shop=loud", "=info,x=1"}) {
    EXPECT_THROW(log::set_levels(bad), Error) << bad;
  }
  EXPECT_EQ(log::levels(), "warn");
}

TEST_F(LogTest, APlaceThatWritesTooMuchIsCutShortAndSaysSo) {
  configure(log::Format::json, 10);
  Scheduler scheduler(Options().virtual_time());
  const auto before = log::counts();
  scheduler.spawn([]() -> Task<void> {
    for (int second = 0; second < 2; ++second) {
      for (int i = 0; i < 25; ++i) log::warn("again", {{"i", i}});
      log::warn("another place");
      co_await sleep(1s);
    }
  });
  scheduler.run();
  const std::string text = written();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 22);
  EXPECT_NE(text.find(R"("suppressed":15)"), std::string::npos);
  EXPECT_EQ(log::counts().suppressed - before.suppressed, 30u);
}

TEST_F(LogTest, LinesWithoutRoomAreDroppedWholeAndCounted) {
  settings_.buffer = 1000;
  settings_.most_per_second = 0;
  log::configure(settings_);
  const auto before = log::counts();
  // The pipe is full after a while, and nobody reads it: the thread waits, the writer does not.
  for (int i = 0; i < 5000; ++i) log::info("a line that nobody reads", {{"i", i}});
  const auto after = log::counts();
  EXPECT_GT(after.dropped, before.dropped);
  EXPECT_EQ(after.lines - before.lines, 5000u);
  std::thread reader([this] { EXPECT_EQ(::fcntl(ends_[0], F_SETFL, 0), 0); });
  reader.join();
  std::string text;
  // Whoever reads finds whole lines, and as many as were not dropped.
  const std::uint64_t kept = 5000 - (after.dropped - before.dropped);
  char part[4096];
  while (static_cast<std::uint64_t>(std::count(text.begin(), text.end(), '\n')) < kept) {
    const ssize_t count = ::read(ends_[0], part, sizeof part);
    ASSERT_GT(count, 0);
    text.append(part, static_cast<std::size_t>(count));
  }
  EXPECT_EQ(::fcntl(ends_[0], F_SETFL, O_NONBLOCK), 0);
  EXPECT_EQ(text.find("{\"timestamp"), 0u);
  EXPECT_TRUE(text.ends_with("}}\n"));
}

TEST_F(LogTest, AClosedDescriptorLosesLinesAndNothingElse) {
  int gone[2];
  ASSERT_EQ(::pipe(gone), 0);
  settings_.descriptor = ::fcntl(gone[1], F_DUPFD, 500);
  ::close(gone[0]);
  ::close(gone[1]);
  ::close(settings_.descriptor);  // EBADF
  const auto before = log::counts();
  log::configure(settings_);
  log::error("into nothing");
  log::flush();
  EXPECT_EQ(log::counts().failed - before.failed, 1u);
  settings_.descriptor = ends_[1];
  log::configure(settings_);
  log::error("back");
  EXPECT_NE(written().find("back"), std::string::npos);
}

TEST_F(LogTest, ALineThatIsTooLongIsCutAndStaysJson) {
  settings_.longest = 2000;
  log::configure(settings_);
  log::info(std::string(10000, 'x'), {{"big", std::string(10000, 'y')}});
  const std::string line = written();
  EXPECT_LT(line.size(), 2000u);
  EXPECT_NE(line.find(R"("cut_from_bytes":20)"), std::string::npos) << line;
  EXPECT_NO_THROW(compact_json(line.substr(0, line.size() - 1)));
}

TEST_F(LogTest, PeopleGetALineWithoutAnythingThatATerminalObeys) {
  configure(log::Format::people);
  log::warn("slow \x1b[2J", {{"carrier", "the post"}, {"ms", 40}});
  const std::string line = written();
  EXPECT_EQ(line.find('\x1b'), std::string::npos);
  EXPECT_NE(line.find("WARN  slow \\u001b[2J carrier=\"the post\" ms=40 (log_test.cpp:"),
            std::string::npos)
      << line;
}

TEST_F(LogTest, TheReportsOfASchedulerGoThroughIt) {
  Scheduler scheduler(Options().virtual_time().log_to(log::sink()));
  scheduler.spawn([]() -> Task<void> {
    tiffany::log("plain words");
    throw std::runtime_error("nobody looks");
    co_return;
  });
  scheduler.run();
  const std::string text = written();
  EXPECT_NE(text.find(R"("level":"INFO","target":"tiffany::core","message":"plain words")"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("level":"ERROR","target":"tiffany::core")"), std::string::npos) << text;
}

TEST_F(LogTest, ThreadsLoseNoLineAndMixNone) {
  settings_.most_per_second = 0;
  log::configure(settings_);
  std::string text;
  EXPECT_EQ(::fcntl(ends_[0], F_SETFL, 0), 0);
  std::thread reader([&] {
    char part[4096];
    while (std::count(text.begin(), text.end(), '\n') < 4000) {
      const ssize_t count = ::read(ends_[0], part, sizeof part);
      if (count <= 0) return;
      text.append(part, static_cast<std::size_t>(count));
    }
  });
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([t] {
      for (int i = 0; i < 1000; ++i) log::info("line", {{"thread", t}, {"i", i}});
    });
  }
  for (auto& writer : writers) writer.join();
  reader.join();
  EXPECT_EQ(::fcntl(ends_[0], F_SETFL, O_NONBLOCK), 0);
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); ++lines) {
    const std::size_t end = text.find('\n', at);
    ASSERT_NO_THROW(compact_json(text.substr(at, end - at)));
    at = end + 1;
  }
  EXPECT_EQ(lines, 4000u);
}

}  // namespace tiffany::log_test

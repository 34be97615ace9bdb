// The tables of docs/19-observing.md have what the code has, and nothing else. (Metrics: see
// collectors_test.cpp.)
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <set>
#include <string>

#include "observe/reference_page.hpp"
#include "tiffany/base/json_reader.hpp"
#include "tiffany/observe/event_ring.hpp"
#include "tiffany/observe/lints.hpp"
#include "tiffany/observe/log.hpp"
#include "tiffany/observe/pal.hpp"
#include "tiffany/observe/span.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::reference_test {

using namespace reference_page;
using Names = std::set<std::string>;

TEST(Reference, HasEveryKindOfEvent) {
  Names told;
  for (std::size_t i = 0; i < observe::kEventKinds; ++i) {
    told.insert(std::string(name_of(static_cast<observe::EventKind>(i))));
  }
  EXPECT_EQ(first_column(section("## Two levels")), told);
}

TEST(Reference, HasEveryLint) {
  Names told;
  for (std::size_t i = 0; i < observe::kLintKinds; ++i) {
    told.insert(std::string(name_of(static_cast<observe::LintKind>(i))));
  }
  EXPECT_EQ(first_column(section("## Lints")), told);
}

// Stages are constants of a header, of which a program has no list.
TEST(Reference, HasEveryStage) {
  const std::string header = source_file("include/tiffany/observe/pal.hpp");
  Names told;
  const std::string constant = "inline constexpr std::string_view k";
  for (std::size_t at = 0; (at = header.find(constant, at)) != std::string::npos; ++at) {
    const std::size_t begin = header.find('"', at) + 1;
    told.insert(header.substr(begin, header.find('"', begin) - begin));
  }
  ASSERT_EQ(told.size(), 25u) << "nine of agents, twelve of the scheduler, four of the runtime";
  EXPECT_EQ(first_column(section("### Stages")), told);
}

// Every member that an event can have, in the order of the page.
TEST(Reference, HasEveryMemberOfAnEvent) {
  Scheduler scheduler(Options().virtual_time());
  Names told;
  auto task = scheduler.spawn([&]() -> Task<void> {
    observe::Pal pal;
    observe::PalSubscription reader = pal.subscribe(observe::PalFilter());
    static_cast<void>(reader.try_next());  // the snapshot
    observe::PalEvent event(Uuid(), observe::stage::kIdle, "words");
    event.ghost = true;
    event.tid = Scheduler::current()->running()->id();
    event.parent = event.tid;
    event.site = std::source_location::current();
    pal.emit(event, [](JsonWriter& data) { data.member("step", 1); });
    const auto frame = reader.try_next();
    JsonReader in(*frame->text);
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      told.insert(name);
      in.raw();
    }
    co_return;
  });
  scheduler.run();
  EXPECT_EQ(task.state(), TaskState::completed);
  told.erase("type");  // of frames, and not of events
  EXPECT_EQ(first_column(section("## PAL: events of progress")), told);
}

TEST(Reference, HasEveryFieldOfTheLog) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  observe::log::Settings settings;
  settings.descriptor = ends[1];
  settings.format = observe::log::Format::json;
  settings.most_per_second = 1;
  settings.longest = 2000;
  observe::log::configure(settings);
  {
    Scheduler scheduler(Options().virtual_time());
    observe::Tracer tracer;
    auto task = scheduler.spawn([&]() -> Task<void> {
      co_await observe::trace(tracer, Uuid(), []() -> Task<void> {
        const observe::Span span("work");
        for (int i = 0; i < 3; ++i) {
          observe::log::info("many");
          if (i == 1) co_await sleep(std::chrono::seconds(2));
        }
        observe::log::info(std::string(4000, 'x'));
      });
    });
    task.named("writer");
    scheduler.run();
    EXPECT_EQ(task.state(), TaskState::completed);
  }
  observe::log::configure(observe::log::Settings());
  ::close(ends[1]);
  std::string all;
  char room[4096];
  for (ssize_t count; (count = ::read(ends[0], room, sizeof room)) > 0;) {
    all.append(room, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  Names told;
  while (!all.empty()) {
    const std::string line = all.substr(0, all.find('\n'));
    all.erase(0, line.size() + 1);
    JsonReader in(line);
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      told.insert(name);
      if (name != "fields") {
        in.raw();
        continue;
      }
      in.begin_object();
      for (std::string field; in.next_member(field);) {
        told.insert(field);
        in.raw();
      }
    }
  }
  EXPECT_EQ(first_column(section("## The log")), told);
}

}  // namespace tiffany::reference_test

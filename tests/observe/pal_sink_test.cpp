#include "tiffany/observe/pal_sink.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tiffany/observe/log.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany::pal_sink_test {

using namespace std::chrono_literals;
using observe::Pal;
using observe::PalEvent;
using observe::PalFrame;
using observe::PalSink;
using observe::PalSinkCounts;

// Fails, hangs or works, by the number of the frame.
class BadSink final : public PalSink {
 public:
  Task<void> take(const PalFrame& frame) override {
    ++frames;
    if (frame.type == PalFrame::Type::lagged) ++lagged;
    if (hangs) co_await sleep(24h);
    if (throws) throw std::runtime_error("nobody there");
  }
  int frames = 0;
  int lagged = 0;
  bool hangs = false;
  bool throws = false;
};

Task<void> emits(Pal* pal, int count) {
  const Uuid task = Uuid::derived(Uuid(), "task");
  for (int i = 0; i < count; ++i) {
    pal->emit(PalEvent(task, observe::stage::kIdle, "still here"));
    co_await sleep(1s);
  }
}

// The same program with a sink that is as said; gives the trace of a run without its own tasks.
PalSinkCounts run_with(BadSink* sink, Time& end) {
  Scheduler scheduler(Options().virtual_time().log_to([](const LogLine&) {}));
  observe::PalOptions options;
  options.queue = 4;
  Pal pal(options);
  PalSinkCounts counts;
  if (sink != nullptr) {
    scheduler
        .spawn(observe::feed, &pal, sink, &counts, observe::PalFilter(), observe::PalSinkOptions())
        .daemon();
  }
  scheduler.spawn(emits, &pal, 100);
  scheduler.run();
  end = scheduler.now();
  EXPECT_EQ(pal.counts().events[static_cast<std::size_t>(observe::PalKind::agent)], 100u);
  return counts;
}

TEST(PalSink, OneThatThrowsHangsOrIsAbsentChangesNothingButACounter) {
  Time end;
  static_cast<void>(run_with(nullptr, end));
  EXPECT_EQ(end, Time(100s));
  BadSink good;
  PalSinkCounts counts = run_with(&good, end);
  EXPECT_EQ(counts.given, 101u) << "a snapshot, and each event";
  EXPECT_EQ(end, Time(100s));
  BadSink throwing;
  throwing.throws = true;
  counts = run_with(&throwing, end);
  EXPECT_EQ(counts.failed, 101u);
  EXPECT_EQ(counts.given, 0u);
  EXPECT_EQ(end, Time(100s));
  BadSink hanging;
  hanging.hangs = true;
  counts = run_with(&hanging, end);
  EXPECT_EQ(counts.late, 20u) << "each is given five seconds";
  EXPECT_GT(hanging.lagged, 0) << "it is told what it has missed";
  EXPECT_EQ(end, Time(100s));
}

TEST(PalSink, TheLogHasALineForEachEvent) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  observe::log::Settings settings;
  settings.descriptor = ends[1];
  observe::log::configure(settings);
  {
    Scheduler scheduler(Options().virtual_time());
    Pal pal;
    observe::PalLogSink sink;
    PalSinkCounts counts;
    scheduler
        .spawn(observe::feed, &pal, &sink, &counts, observe::PalFilter(), observe::PalSinkOptions())
        .daemon();
    scheduler.spawn(emits, &pal, 2);
    scheduler.run();
  }
  observe::log::flush();
  observe::log::configure(observe::log::Settings());
  ::close(ends[1]);
  char room[4096];
  const ssize_t size = ::read(ends[0], room, sizeof room);
  ::close(ends[0]);
  ASSERT_GT(size, 0);
  const std::string text(room, static_cast<std::size_t>(size));
  EXPECT_NE(text.find("\"target\":\"tiffany::pal\",\"message\":\"still here\""), std::string::npos)
      << text;
  EXPECT_NE(text.find("\"stage\":\"Idle\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"seq\":2"), std::string::npos) << text;
}

}  // namespace tiffany::pal_sink_test

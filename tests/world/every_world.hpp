// One set of sentences for every World: the operating system with io_uring, with epoll, and the
// world in memory, without a seed and with one that splits reads and delays what is over.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany {

enum class WorldKind : std::uint8_t { uring, epoll, memory, seeded_memory };

class OnEveryWorld : public testing::TestWithParam<WorldKind> {
 protected:
  bool in_memory() const { return GetParam() >= WorldKind::memory; }
  void SetUp() override {
    if (GetParam() == WorldKind::uring && !uring_works()) {
      GTEST_SKIP() << "this kernel does not let us use io_uring";
    }
    if (GetParam() == WorldKind::memory) world_.emplace();
    if (GetParam() == WorldKind::seeded_memory) world_.emplace(MemoryWorldOptions().seed(7));
    if (in_memory()) {
      directory_ = "/tmp";
    } else {
      on_disk_.emplace();
      directory_ = on_disk_->path();
    }
    before_ = descriptors();
  }
  void TearDown() override {
    if (!IsSkipped()) {
      EXPECT_EQ(descriptors(), before_);
    }
  }
  Options options() {
    if (in_memory()) return Options().clock(world_->reactor());
    return Options().clock(
        system_reactor(GetParam() == WorldKind::uring ? ReactorKind::uring : ReactorKind::epoll));
  }
  std::string path(const std::string& name) const { return directory_ + "/" + name; }

  // Runs a task on a scheduler of its own; throws what the task throws.
  template <class F, class... Args>
  auto run(F&& f, Args&&... args) {
    Scheduler scheduler(options());
    auto handle = scheduler.spawn(std::forward<F>(f), std::forward<Args>(args)...);
    scheduler.run();
    EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
    return outcome_of(handle, false).value();
  }

  // Cancels a task after its first slice, its second, and so on, until it ends before that.
  template <class F, class... Args>
  void cancel_at_every_step(F f, Args... args) {
    for (std::size_t step = 0;; ++step) {
      SCOPED_TRACE("cancelled after " + std::to_string(step) + " slices");
      ASSERT_LT(step, 2000u);
      Scheduler scheduler(options());
      auto handle = scheduler.spawn(f, args...);
      while (scheduler.slices() < step && !handle.done()) {
        if (!scheduler.step()) scheduler.poll(scheduler.now() + std::chrono::seconds(1));
      }
      const bool over = handle.done();
      handle.cancel("at step " + std::to_string(step));
      scheduler.run();
      EXPECT_TRUE(handle.done());
      EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
      EXPECT_EQ(scheduler.live_tasks(), 0u);
      if (over) return;
    }
  }

 private:
  std::size_t descriptors() const {
    return in_memory() ? world_->open_descriptors() : tiffany::open_descriptors();
  }
  std::optional<MemoryWorld> world_;
  std::optional<TemporaryDirectory> on_disk_;
  std::string directory_;
  std::size_t before_ = 0;
};

inline std::string name_of_world(const testing::TestParamInfo<WorldKind>& info) {
  constexpr const char* kNames[] = {"uring", "epoll", "memory", "seeded_memory"};
  return kNames[static_cast<std::size_t>(info.param)];
}

#define TIFFANY_ON_EVERY_WORLD(fixture)                                                           \
  INSTANTIATE_TEST_SUITE_P(, fixture,                                                             \
                           testing::Values(WorldKind::uring, WorldKind::epoll, WorldKind::memory, \
                                           WorldKind::seeded_memory),                             \
                           name_of_world)

// The errno of the IoError that an awaited call throws; 0: none.
template <class Call>
Task<int> error_of(Call call) {
  try {
    co_await std::move(call);
  } catch (const IoError& error) {
    co_return error.number();
  }
  co_return 0;
}

// Two ends of a connection over loopback.
struct Ends {
  Socket client;
  Socket server;
};
inline Task<Ends> connected(Address at = Address::loopback(0)) {
  Listener listener = Listener::bind(at);
  Ends ends;
  ends.client = co_await connect(listener.local());
  ends.server = co_await listener.accept();
  co_return ends;
}

template <class S>
Task<std::string> read_all(const S* from) {
  std::string all;
  char room[4096];
  for (;;) {
    const std::size_t n = co_await from->read(Room(room, sizeof room));
    if (n == 0) co_return all;
    all.append(room, n);
  }
}
template <class S>
Task<std::string> read_exactly(const S* from, std::size_t size) {
  std::string all(size, ' ');
  std::size_t got = 0;
  while (got < size) {
    const std::size_t n = co_await from->read(Room(all.data() + got, size - got));
    if (n == 0) break;
    got += n;
  }
  all.resize(got);
  co_return all;
}

inline std::string long_text(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * i % 23);
  return text;
}

}  // namespace tiffany

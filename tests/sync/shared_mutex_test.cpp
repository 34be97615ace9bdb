#include "tiffany/sync/shared_mutex.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/harness.hpp"

namespace tiffany {
namespace shared_mutex_test {

using namespace test;

// Readers and writers that write down when they are inside.
class Library {
 public:
  Task<void> read(std::string name) {
    const auto guard = co_await mutex.lock_shared();
    trace.push_back("+" + name);
    co_await sleep(1ms);
    trace.push_back("-" + name);
  }
  Task<void> write(std::string name) {
    const auto guard = co_await mutex.lock();
    trace.push_back("+" + name);
    co_await sleep(1ms);
    trace.push_back("-" + name);
  }
  SharedMutex mutex;
  Trace trace;
};

TEST(SharedMutex, ReadersTogetherWritersAloneInTheOrderTheyAsked) {
  run_program([]() -> Task<void> {
    Library library;
    co_await scope([&](Scope& s) -> Task<void> {
      s.spawn(&Library::read, &library, "r1");
      s.spawn(&Library::read, &library, "r2");
      s.spawn(&Library::write, &library, "w1");
      s.spawn(&Library::read, &library, "r3");
      s.spawn(&Library::read, &library, "r4");
      s.spawn(&Library::write, &library, "w2");
      co_await yield();
      EXPECT_EQ(library.mutex.readers(), 2u) << "r3 stands behind the writer";
      EXPECT_FALSE(library.mutex.locked());
    });
    EXPECT_EQ(library.trace, Trace({"+r1", "+r2", "-r1", "-r2", "+w1", "-w1", "+r3", "+r4", "-r3",
                                    "-r4", "+w2", "-w2"}));
    EXPECT_EQ(library.mutex.readers(), 0u);
    EXPECT_FALSE(library.mutex.locked());
  });
}

TEST(SharedMutex, ACancelledWriterLetsTheReadersBehindItGoOn) {
  run_program([]() -> Task<void> {
    Library library;
    auto reader = spawn(&Library::read, &library, "r1");
    auto writer = spawn(&Library::write, &library, "w");
    auto second = spawn(&Library::read, &library, "r2");
    co_await yield();
    EXPECT_EQ(library.trace, Trace({"+r1"}));
    writer.cancel();
    EXPECT_EQ(second.state(), TaskState::ready);
    EXPECT_EQ(library.mutex.readers(), 2u);
    co_await gather(reader, second);
    EXPECT_EQ(library.trace, Trace({"+r1", "+r2", "-r1", "-r2"}));
  });
}

TEST(SharedMutex, AskingForWhatOneHoldsIsAnErrorWhenItWouldHaveToWait) {
  run_program([]() -> Task<void> {
    SharedMutex mutex;
    const auto read = [&]() -> Task<void> { static_cast<void>(co_await mutex.lock_shared()); };
    const auto write = [&]() -> Task<void> { static_cast<void>(co_await mutex.lock()); };
    auto writing = co_await mutex.lock();
    EXPECT_TRUE(mutex.locked());
    EXPECT_EQ(code_of(co_await error_of(read())), Errc::relock);
    EXPECT_EQ(code_of(co_await error_of(write())), Errc::relock);
    EXPECT_EQ(code_of(thrown_by([&] { mutex.try_lock_shared(); })), Errc::relock);
    writing.unlock();

    const unsigned line = __LINE__ + 1;
    auto reading = co_await mutex.lock_shared();
    const auto error = co_await error_of(write());
    EXPECT_EQ(code_of(error), Errc::relock);
    EXPECT_NE(what_of(error).find("asked for a shared mutex at "), std::string::npos);
    EXPECT_NE(what_of(error).find("from shared_mutex_test.cpp:" + std::to_string(line)),
              std::string::npos);
    EXPECT_EQ(code_of(co_await error_of(read())), std::nullopt) << "nobody is in between";
    auto writer = spawn(std::ref(write));
    co_await yield();
    EXPECT_EQ(code_of(co_await error_of(read())), Errc::relock) << "now a writer is";
    reading.unlock();
    co_await writer;
  });
}

TEST(SharedMutex, TryCallsDoNotOvertakeThoseInLine) {
  SharedMutex mutex;
  auto first = mutex.try_lock_shared();
  auto second = mutex.try_lock_shared();
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(mutex.try_lock().has_value());
  Scheduler scheduler(Options().virtual_time());
  const auto write = [&]() -> Task<void> { const auto guard = co_await mutex.lock(); };
  scheduler.spawn(std::ref(write));
  scheduler.step_until_idle();
  EXPECT_FALSE(mutex.try_lock_shared().has_value()) << "a writer waits";
  first->unlock();
  second.reset();
  EXPECT_TRUE(mutex.locked()) << "handed over";
  scheduler.run();
  EXPECT_TRUE(mutex.try_lock().has_value());
}

TEST(SharedMutex, GuardsCanBeMoved) {
  run_program([]() -> Task<void> {
    SharedMutex mutex;
    SharedMutex::SharedGuard kept;
    EXPECT_FALSE(kept);
    {
      auto guard = co_await mutex.lock_shared();
      kept = std::move(guard);
    }
    EXPECT_EQ(mutex.readers(), 1u);
    kept = SharedMutex::SharedGuard();
    EXPECT_EQ(mutex.readers(), 0u);
    SharedMutex::Guard writing = co_await mutex.lock();
    EXPECT_TRUE(writing);
  });
}

}  // namespace shared_mutex_test
}  // namespace tiffany

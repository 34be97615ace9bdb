// T13: the stacks of fibers: how deep, how many, and what happens when one is used up.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "support/end_now.hpp"
#include "support/fibers.hpp"
#include "support/harness.hpp"
#include "tiffany/engine/fiber.hpp"

namespace tiffany {
namespace fiber_stack_test {

using namespace test;

// A frame of a kilobyte that the compiler cannot do without.
[[gnu::noinline]] std::size_t dig(std::size_t levels, const std::function<void()>& at_the_bottom) {
  volatile char frame[1024];
  frame[0] = 1;
  if (levels == 0) {
    at_the_bottom();
    return 0;
  }
  const std::size_t deeper = dig(levels - 1, at_the_bottom);
  return deeper + static_cast<std::size_t>(frame[0]);
}

TEST(FiberStack, T13_CallsNestAsDeeplyAsTheStackAllowsAndWaitThere) {
  const auto program = [] {
    const auto digs = [](std::size_t levels) {
      return dig(levels, [] {
        fiber::sleep(1ms);
        fiber::yield();
      });
    };
    // Half of it: sanitizers make frames larger.
    auto a = spawn_fiber(digs, 500u);
    auto b = spawn_fiber(digs, 499u);
    EXPECT_EQ(await(a) + await(b), 999u);
  };
  run_fiber(program, Options().virtual_time().fiber_stack(std::size_t{1} << 20));
}

TEST(FiberStack, T13_AMillionCoroutinesDeepBelowAFiberUseNoneOfIt) {
  struct Depth {
    static Task<int> of(int n) {
      if (n == 0) co_return 0;
      co_return 1 + co_await of(n - 1);
    }
  };
  run_fiber([] { EXPECT_EQ(await(Depth::of(1'000'000)), 1'000'000); },
            Options().virtual_time().fiber_stack(StackPool::kLeast));
}

TEST(FiberStack, T13_AnExceptionFitsOnTheSmallestStack) {
  run_fiber(
      [] {
        const auto error = thrown_by([] {
          fiber::yield();
          throw std::runtime_error("small");
        });
        EXPECT_EQ(what_of(error), "small");
        std::printf("%s", "");
      },
      Options().virtual_time().fiber_stack(StackPool::kLeast));
}

TEST(FiberStack, T13_AStackIsUsedAgain) {
  Scheduler scheduler(Options().virtual_time());
  const auto program = []() -> Task<void> {
    for (int i = 0; i < 1000; ++i) co_await spawn_fiber([] { fiber::yield(); });
  };
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(detail::FiberStacks::of(scheduler).kept(), 1u);
}

std::size_t available_bytes() {
  return static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) *
         static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

TEST(FiberStack, T13_AHundredThousandAreAliveAtATime) {
  if (available_bytes() < std::size_t{2} << 30) GTEST_SKIP() << "needs a gigabyte of memory";
  Scheduler scheduler(Options().virtual_time().fiber_stack(StackPool::kLeast));
  detail::FiberStacks::of(scheduler).give_back(detail::FiberStacks::of(scheduler).take());
  // Older systems have too few mappings for so many.
  const int fibers = detail::FiberStacks::of(scheduler).mapped_guards() ? 20'000 : 100'000;
  const auto program = [&] {
    Promise<int> event;
    int begun = 0;
    const auto waits = [&](Future<int> future) {
      ++begun;
      const int value = await(future);
      fiber::yield();
      return value;
    };
    std::vector<Handle<int>> all;
    all.reserve(static_cast<std::size_t>(fibers));
    for (int i = 0; i < fibers; ++i) {
      all.push_back(spawn_fiber(std::ref(waits), event.future()));
    }
    fiber::yield();
    EXPECT_EQ(begun, fibers);
    EXPECT_EQ(detail::FiberStacks::of(*Scheduler::current()).in_use(),
              static_cast<std::size_t>(fibers) + 1);
    event.complete(1);
    int sum = 0;
    for (const int value : await(gather(all))) sum += value;
    EXPECT_EQ(sum, fibers);
  };
  run_fiber_on(scheduler, program);
  EXPECT_LE(detail::FiberStacks::of(scheduler).kept(), StackPool::kKept);
}

// All address space but small holes, as long as it lives.
class NoAddressSpace {
 public:
  NoAddressSpace() {
    for (std::size_t size = std::size_t{1} << 46; size >= kHoles; size /= 2) {
      for (;;) {
        void* const at =
            mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED) break;
        taken_.emplace_back(at, size);
      }
    }
  }
  ~NoAddressSpace() {
    for (const auto& [at, size] : taken_) munmap(at, size);
  }
  NoAddressSpace(const NoAddressSpace&) = delete;
  NoAddressSpace& operator=(const NoAddressSpace&) = delete;

  static constexpr std::size_t kHoles = std::size_t{32} << 20;

 private:
  std::vector<std::pair<void*, std::size_t>> taken_;
};

TEST(FiberStack, T13_AFiberThatGetsNoStackFailsAndOthersGoOn) {
  Scheduler scheduler(Options().virtual_time().fiber_stack(2 * NoAddressSpace::kHoles));
  const auto yields = []() -> Task<void> { co_await yield(); };
  const auto program = [&]() -> Task<void> {
    {
      const NoAddressSpace nothing;
      auto without = spawn_fiber([] { fiber::yield(); });
      auto beside = spawn(yields);
      const auto outcome = co_await without.outcome();
      EXPECT_EQ(code_of(outcome.error()), Errc::no_stack);
      co_await beside;
    }
    co_await spawn_fiber([] { fiber::yield(); });  // there is room again
  };
  run_on_scheduler(scheduler, program);
  EXPECT_EQ(detail::FiberStacks::of(scheduler).in_use(), 0u);
  EXPECT_EQ(detail::FiberStacks::of(scheduler).promised(), 0u);
}

// ---- Used up ----

// In a process in which no fiber has run yet: what was there before the first one counts.
class FiberOverflow : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override { GTEST_FLAG_SET(death_test_style, before_); }
  const std::string before_ = GTEST_FLAG_GET(death_test_style);
};

void deep_in_a_fiber() {
  Scheduler scheduler(Options().virtual_time().fiber_stack(64 << 10));
  const auto digs = [] {
    fiber::yield();
    dig(10'000, [] {});
  };
  scheduler.spawn_fiber(std::ref(digs)).named("digger");
  scheduler.run();
}

// By the signal, or by what a sanitizer makes of it.
bool crashed(int status) {
  return (WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) ||
         (WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

constexpr const char* kReport =
    "error: the stack of a fiber is used up: task #1 \"digger\", spawned at "
    "fiber_stack_test.cpp:[0-9]+, has used all 68 KiB of it. Give fibers larger stacks with "
    "Options::fiber_stack";

TEST_F(FiberOverflow, T13_AStackThatIsUsedUpEndsTheProgramWithAReportThatNamesTheTask) {
  EXPECT_EXIT(deep_in_a_fiber(), crashed, kReport);
}

void say(const char* text) { static_cast<void>(!write(STDERR_FILENO, text, std::strlen(text))); }

// When the handler returns the first time, the same fault comes again.
void expect_report_then_handler(bool with_info) {
  static int faults = 0;
  struct sigaction mine = {};
  if (with_info) {
    mine.sa_flags = SA_SIGINFO | SA_ONSTACK;
    mine.sa_sigaction = [](int, siginfo_t* info, void* context) {
      say(info->si_addr != nullptr && context != nullptr ? "the handler before\n" : "nothing\n");
      if (++faults == 2) end_now(42);
    };
  } else {
    mine.sa_flags = SA_ONSTACK;
    mine.sa_handler = [](int) {
      say("the handler before\n");
      if (++faults == 2) end_now(42);
    };
  }
  sigaction(SIGSEGV, &mine, nullptr);
  deep_in_a_fiber();
}

TEST_F(FiberOverflow, T13_TheHandlerThatWasThereBeforeComesAfterTheReport) {
  const std::string both = std::string(kReport) + "(.|\n)*the handler before";
  EXPECT_EXIT(expect_report_then_handler(true), ::testing::ExitedWithCode(42), both);
  EXPECT_EXIT(expect_report_then_handler(false), ::testing::ExitedWithCode(42), both);
}

// No report: the whole of what is written is what the handler before writes.
void fault_in_a_fiber(bool sent) {
  struct sigaction mine = {};
  mine.sa_handler = [](int) {
    say("not ours");
    end_now(43);
  };
  sigaction(SIGSEGV, &mine, nullptr);
  run_fiber([&] {
    fiber::yield();
    if (sent) {
      raise(SIGSEGV);
    } else {
      volatile int* volatile nowhere = nullptr;
      *nowhere = 1;
    }
  });
}

TEST_F(FiberOverflow, T13_AnyOtherFaultGoesToTheHandlerThatWasThereBefore) {
  EXPECT_EXIT(fault_in_a_fiber(false), ::testing::ExitedWithCode(43), "^not ours$");
  EXPECT_EXIT(fault_in_a_fiber(true), ::testing::ExitedWithCode(43), "^not ours$");
}

void signal_without_handler() {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGSEGV, &standard, nullptr);
  run_fiber([] {
    fiber::yield();
    raise(SIGSEGV);
  });
}

TEST_F(FiberOverflow, T13_ASignalThatWasSentEndsAProgramWithoutAHandler) {
  EXPECT_EXIT(signal_without_handler(), ::testing::KilledBySignal(SIGSEGV), "^$");
}

}  // namespace fiber_stack_test
}  // namespace tiffany

// Every combinator over every kind of awaitable: completion, cancel while parked, cancel before it has
// begun. A table of awaitables times a table of combinators, in coroutines and in fibers, on both
// reactors. What was cancelled has left no registration, and what comes afterwards is not lost.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/io/wait.hpp"

namespace tiffany {
namespace awaitable_matrix_test {

using namespace std::chrono_literals;
using test::what_of;

// ---- The awaitables: how one is made, and how what it waits for comes ----

struct Stage {
  Stage() : sender(box.sender()) {}

  Channel<int> values = channel<int>(1);
  Channel<int> full = channel<int>(0);
  Mailbox<int> box{4};
  MailSender<int> sender;
  ManualResetEvent event;
  Mutex mutex;
  std::optional<Mutex::Guard> held;
  Promise<int> promise;
  Promise<int> never;
  Handle<int> handle;
  Pipe pipe = make_pipe();
  Listener listener = Listener::bind(Address::loopback(0));
  Socket client;
  Signals signals{SIGUSR2};
  std::array<char, 8> room{};
};

Task<int> wait_for(Future<int> future) { co_return co_await future; }

struct OfSleep {
  static constexpr const char* name = "sleep";
  static auto make(Stage&) { return sleep(3ms); }
  static Task<void> fulfil(Stage&) { co_return; }
};
struct OfRecv {
  static constexpr const char* name = "recv";
  static auto make(Stage& stage) { return stage.values.receiver.recv(); }
  static Task<void> fulfil(Stage& stage) { co_await stage.values.sender.send(1); }
};
struct OfSend {
  static constexpr const char* name = "send";
  static auto make(Stage& stage) { return stage.full.sender.send(1); }
  static Task<void> fulfil(Stage& stage) {
    const auto got = co_await stage.full.receiver.recv();
    EXPECT_EQ(got, 1);
  }
};
struct OfMailbox {
  static constexpr const char* name = "mailbox";
  static auto make(Stage& stage) { return stage.box.next(); }
  static Task<void> fulfil(Stage& stage) {
    EXPECT_EQ(stage.sender.post(1), Posted::accepted);
    co_return;
  }
};
struct OfEvent {
  static constexpr const char* name = "event";
  static auto make(Stage& stage) { return stage.event.wait(); }
  static Task<void> fulfil(Stage& stage) {
    stage.event.set();
    co_return;
  }
};
struct OfFuture {
  static constexpr const char* name = "future";
  static auto make(Stage& stage) { return stage.promise.future(); }
  static Task<void> fulfil(Stage& stage) {
    stage.promise.complete(1);
    co_return;
  }
};
struct OfHandle {
  static constexpr const char* name = "handle";
  static auto make(Stage& stage) {
    if (!stage.handle) stage.handle = spawn(wait_for, stage.promise.future());
    return stage.handle;
  }
  static Task<void> fulfil(Stage& stage) { return OfFuture::fulfil(stage); }
};
struct OfTask {
  static constexpr const char* name = "task";
  static auto make(Stage& stage) { return wait_for(stage.promise.future()); }
  static Task<void> fulfil(Stage& stage) { return OfFuture::fulfil(stage); }
};
struct OfRead {
  static constexpr const char* name = "read";
  static auto make(Stage& stage) { return stage.pipe.read_end.read(stage.room); }
  static Task<void> fulfil(Stage& stage) { co_await stage.pipe.write_end.write("x"); }
};
struct OfReadable {
  static constexpr const char* name = "readable";
  static auto make(Stage& stage) { return readable(stage.pipe.read_end.descriptor().fd()); }
  static Task<void> fulfil(Stage& stage) { return OfRead::fulfil(stage); }
};
struct OfAccept {
  static constexpr const char* name = "accept";
  static auto make(Stage& stage) { return stage.listener.accept(); }
  static Task<void> fulfil(Stage& stage) {
    stage.client = co_await connect(stage.listener.local());
  }
};
struct OfSignal {
  static constexpr const char* name = "signal";
  static auto make(Stage& stage) { return stage.signals.next(); }
  static Task<void> fulfil(Stage&) {
    EXPECT_EQ(kill(getpid(), SIGUSR2), 0);
    co_return;
  }
};
struct OfOffload {
  static constexpr const char* name = "offload";
  static auto make(Stage&) {
    return offload([] { return 1; });
  }
  static Task<void> fulfil(Stage&) { co_return; }
};
struct OfGather {
  static constexpr const char* name = "gather";
  static auto make(Stage& stage) { return gather(stage.promise.future(), stage.promise.future()); }
  static Task<void> fulfil(Stage& stage) { return OfFuture::fulfil(stage); }
};
struct OfRace {
  static constexpr const char* name = "race";
  static auto make(Stage& stage) {
    return race(stage.never.future(), stage.values.receiver.recv());
  }
  static Task<void> fulfil(Stage& stage) { return OfRecv::fulfil(stage); }
};
struct OfWithin {
  static constexpr const char* name = "within";
  static auto make(Stage& stage) { return within(1h, stage.pipe.read_end.read(stage.room)); }
  static Task<void> fulfil(Stage& stage) { return OfRead::fulfil(stage); }
};

// ---- The combinators ----

struct Alone {
  static constexpr const char* name = "alone";
  template <class A>
  static auto around(Stage&, A&& a) {
    return detail::carry<std::remove_cvref_t<A>>(std::forward<A>(a));
  }
};
struct InWithin {
  static constexpr const char* name = "within";
  template <class A>
  static auto around(Stage&, A&& a) {
    return within(1h, std::forward<A>(a));
  }
};
struct InRace {
  static constexpr const char* name = "race";
  template <class A>
  static auto around(Stage& stage, A&& a) {
    return race(stage.never.future(), std::forward<A>(a));
  }
};
struct InRaceWithTask {
  static constexpr const char* name = "race with a task";
  template <class A>
  static auto around(Stage& stage, A&& a) {
    return race(std::forward<A>(a), wait_for(stage.never.future()));
  }
};
struct InAny {
  static constexpr const char* name = "any";
  template <class A>
  static auto around(Stage& stage, A&& a) {
    return any(stage.never.future(), std::forward<A>(a));
  }
};
struct InGather {
  static constexpr const char* name = "gather";
  template <class A>
  static auto around(Stage&, A&& a) {
    return gather(yield(), std::forward<A>(a));
  }
};
struct InAllSettled {
  static constexpr const char* name = "all_settled";
  template <class A>
  static auto around(Stage&, A&& a) {
    return all_settled(std::forward<A>(a), sleep(0ms));
  }
};
struct InShield {
  static constexpr const char* name = "shield";
  template <class A>
  static auto around(Stage&, A&& a) {
    return shield(std::forward<A>(a));
  }
};

// ---- The table ----

struct Cell {
  std::string name;
  bool shielded;
  Task<void> (*in_coroutine)(Stage&);
  void (*in_fiber)(Stage&);
  Task<void> (*plain)(Stage&);
  Task<void> (*fulfil)(Stage&);
};

template <class Kind, class Combinator>
Task<void> in_coroutine(Stage& stage) {
  static_cast<void>(co_await Combinator::around(stage, Kind::make(stage)));
}
template <class Kind, class Combinator>
void in_fiber(Stage& stage) {
  static_cast<void>(await(Combinator::around(stage, Kind::make(stage))));
}
template <class Kind>
Task<void> plain(Stage& stage) {
  static_cast<void>(co_await Kind::make(stage));
}

template <class Kind, class... Combinators>
void add_row(std::vector<Cell>& cells) {
  (cells.push_back(Cell{std::string(Combinators::name) + " of " + Kind::name,
                        std::is_same_v<Combinators, InShield>, &in_coroutine<Kind, Combinators>,
                        &in_fiber<Kind, Combinators>, &plain<Kind>, &Kind::fulfil}),
   ...);
}
template <class... Kinds>
std::vector<Cell> table() {
  std::vector<Cell> cells;
  (add_row<Kinds, Alone, InWithin, InRace, InRaceWithTask, InAny, InGather, InAllSettled, InShield>(
       cells),
   ...);
  return cells;
}
const std::vector<Cell>& cells() {
  static const std::vector<Cell> all =
      table<OfSleep, OfRecv, OfSend, OfMailbox, OfEvent, OfFuture, OfHandle, OfTask, OfRead,
            OfReadable, OfAccept, OfSignal, OfOffload, OfGather, OfRace, OfWithin>();
  return all;
}

// ---- The tests ----

enum class Engine : unsigned char { coroutine, fiber };

class AwaitableMatrix : public testing::TestWithParam<std::tuple<ReactorKind, Engine>> {
 protected:
  void SetUp() override {
    if (std::get<0>(GetParam()) == ReactorKind::uring && !uring_works()) {
      GTEST_SKIP() << "this kernel does not let us use io_uring";
    }
  }
  // Cancels itself first, if that is asked for, and then runs the cell.
  static Task<void> body(const Cell* cell, Stage* stage, bool cancel_first) {
    if (cancel_first) this_task::cancel("first");
    co_await cell->in_coroutine(*stage);
  }
  static void fiber_body(const Cell* cell, Stage* stage, bool cancel_first) {
    if (cancel_first) this_task::cancel("first");
    cell->in_fiber(*stage);
  }
  static Handle<void> begin(const Cell& cell, Stage& stage, Engine engine, bool cancel_first) {
    if (engine == Engine::fiber) return spawn_fiber(fiber_body, &cell, &stage, cancel_first);
    return spawn(body, &cell, &stage, cancel_first);
  }
  // Until what was begun waits, children included; it may also have ended by itself.
  static Task<void> let_it_park() {
    for (int i = 0; i < 12; ++i) co_await yield();
  }

  template <class F>
  void each_cell(F test) {
    const Engine engine = std::get<1>(GetParam());
    for (const Cell& cell : cells()) {
      SCOPED_TRACE(cell.name);
      const std::size_t descriptors = open_descriptors();
      {
        Scheduler scheduler(Options().clock(system_reactor(std::get<0>(GetParam()))));
        const auto program = [&]() -> Task<void> {
          Stage stage;
          co_await test(cell, stage, engine);
          if (stage.handle) stage.handle.cancel();
        };
        auto handle = scheduler.spawn(std::ref(program));
        scheduler.run();
        handle.waitable().mark_observed();
        EXPECT_EQ(handle.state(), TaskState::completed) << what_of(handle.waitable().error());
        EXPECT_EQ(scheduler.reactor().in_flight(), 0u);
        EXPECT_EQ(scheduler.live_tasks(), 0u);
        EXPECT_EQ(scheduler.armed_timers(), 0u);
      }
      EXPECT_EQ(open_descriptors(), descriptors);
      if (HasFailure()) return;
    }
  }
};

Task<void> completes(const Cell& cell, Stage& stage, Handle<void> handle) {
  auto fulfil = spawn(cell.fulfil, std::ref(stage));
  const auto done = co_await within(10s, handle);
  EXPECT_FALSE(done.timed_out());
  co_await fulfil;
}

TEST_P(AwaitableMatrix, EachCombinatorGivesTheResultOfEachAwaitable) {
  each_cell([](const Cell& cell, Stage& stage, Engine engine) -> Task<void> {
    auto handle = begin(cell, stage, engine, false);
    co_await let_it_park();
    co_await completes(cell, stage, handle);
  });
}

TEST_P(AwaitableMatrix, ACancelWhileParkedWithdrawsAndLosesNothing) {
  each_cell([](const Cell& cell, Stage& stage, Engine engine) -> Task<void> {
    auto handle = begin(cell, stage, engine, false);
    co_await let_it_park();
    handle.cancel("while parked");
    if (cell.shielded) {
      co_await completes(cell, stage, handle);
      co_return;
    }
    const auto outcome = co_await handle.outcome();
    EXPECT_FALSE(outcome.failed()) << what_of(outcome.error());
    if (outcome.ok()) co_return;  // it was over before: an offload, a short sleep
    EXPECT_FALSE(stage.never.future().waitable().has_waiters());
    // What comes now is for the next who asks.
    auto next = spawn(cell.plain, std::ref(stage));
    co_await let_it_park();
    co_await completes(cell, stage, next);
  });
}

TEST_P(AwaitableMatrix, ACancelBeforeItHasBegunLeavesEverythingAsItWas) {
  each_cell([](const Cell& cell, Stage& stage, Engine engine) -> Task<void> {
    auto handle = begin(cell, stage, engine, true);
    if (cell.shielded) {
      co_await let_it_park();
      co_await completes(cell, stage, handle);
      co_return;
    }
    const auto outcome = co_await handle.outcome();
    EXPECT_TRUE(outcome.cancelled()) << what_of(outcome.error());
    EXPECT_FALSE(stage.never.future().waitable().has_waiters());
    auto next = spawn(cell.plain, std::ref(stage));
    co_await let_it_park();
    co_await completes(cell, stage, next);
  });
}

INSTANTIATE_TEST_SUITE_P(
    , AwaitableMatrix,
    testing::Combine(testing::Values(ReactorKind::uring, ReactorKind::epoll),
                     testing::Values(Engine::coroutine, Engine::fiber)),
    [](const auto& cell) {
      return std::string(std::get<0>(cell.param) == ReactorKind::uring ? "uring" : "epoll") +
             (std::get<1>(cell.param) == Engine::fiber ? "_fiber" : "_coroutine");
    });

}  // namespace awaitable_matrix_test
}  // namespace tiffany

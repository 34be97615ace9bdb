// Parts of a durable task that may take so long.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "durable/memory_test.hpp"
#include "tiffany/durable/saga.hpp"

namespace tiffany {
namespace timed_scopes_test {

using namespace std::chrono_literals;

class TimedScopeTest : public MemoryTest {};
TIFFANY_IN_EVERY_STORE(TimedScopeTest);

int under_way = 0;
struct Between {
  Between() { ++under_way; }
  ~Between() { --under_way; }
  Between(const Between&) = delete;
  Between& operator=(const Between&) = delete;
};

std::string hours_of(Flow& flow) {
  return std::to_string(flow.now().time_since_epoch() / 1h) + " ";
}

Durable<void> waits_inside(Flow& flow, int how) {
  const auto scope = co_await flow.scope(2h);
  if (how == 0) co_await flow.sleep(1h);
  if (how == 1) co_await flow.sleep(5h);
  if (how == 2) co_await flow.signal<int>("nobody sends this");
  if (how == 3) {
    co_await flow.step("long", []() -> Task<void> {
      const Between between;
      co_await sleep(5h);
    });
  }
  if (how == 4) {
    const auto inner = co_await flow.scope(1h);
    try {
      co_await flow.sleep(5h);
    } catch (const ScopeTimedOut&) {
    }
    co_await flow.sleep(5h);  // still inside: throws at once
  }
  if (how == 5) {
    const auto shield = flow.shield();
    co_await flow.sleep(5h);
  }
}

Durable<std::string> scopes(Flow& flow) {
  std::string text;
  for (int how = 0; how < 6; ++how) {
    try {
      co_await waits_inside(flow, how);
      text += "in time at ";
    } catch (const ScopeTimedOut& e) {
      text += e.code() == Errc::scope_timed_out ? "late at " : "? ";
    }
    text += hours_of(flow);
  }
  co_await flow.sleep(1h);  // outside of all scopes
  co_return text + hours_of(flow);
}

TEST_P(TimedScopeTest, AWaitInsideThrowsWhenTheTimeIsOverWhereverTheProcessIsCutOff) {
  only("scopes", scopes);
  const Uuid id = Uuid::derived(Uuid(), "scopes");
  world.crash_everywhere([] {},
                         [&](Host& host) -> Task<void> {
                           co_await host.start_as(id, "scopes");
                           EXPECT_EQ(co_await host.result<std::string>(id),
                                     "in time at 1 late at 3 late at 5 late at 7 late at 8 "
                                     "in time at 13 14 ")
                               << world.crashed_after;
                         },
                         [&] { EXPECT_EQ(under_way, 0) << world.crashed_after; });
}

void undone() { effects.push_back("undone"); }
Durable<void> body_of_saga(Flow& flow, Saga& saga) {
  saga.undo("undo", undone);
  co_await flow.sleep(24h);
}
Durable<void> saga_in_scope(Flow& flow) {
  const auto scope = co_await flow.scope(1h);
  co_await run_saga(flow, body_of_saga);
}

TEST_P(TimedScopeTest, ASagaIsUndoneWhenTheTimeAroundItIsOver) {
  only("saga", saga_in_scope);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("saga");
    try {
      co_await host.result<void>(id);
      ADD_FAILURE();
    } catch (const DurableFailed& e) {
      EXPECT_EQ(e.cause(), Errc::scope_timed_out);
      EXPECT_EQ(e.type(), "tiffany::ScopeTimedOut");
    }
  });
  EXPECT_EQ(effects, (std::vector<std::string>{"undone"}));
}

Durable<std::string> cancelled_inside(Flow& flow) {
  std::string text;
  try {
    const auto scope = co_await flow.scope(1h);
    co_await flow.sleep(24h);
  } catch (const DurableCancelled&) {
    text = "cancelled";
  }
  co_return text;
}

TEST_P(TimedScopeTest, ACancelInsideIsACancel) {
  only("cancelled", cancelled_inside);
  world.live([&](Host& host) -> Task<void> {
    const Uuid id = co_await host.start("cancelled");
    co_await sleep(30min);
    co_await host.cancel(id, "enough");
    EXPECT_EQ(co_await host.result<std::string>(id), "cancelled");
  });
}

}  // namespace timed_scopes_test
}  // namespace tiffany

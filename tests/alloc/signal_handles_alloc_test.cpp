// A signal that was not looked at goes back when there is no memory, too: destructors do that.
#include <gtest/gtest.h>

#include <string>

#include "alloc/failing_new.hpp"
#include "tiffany/durable/crash_test.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany {
namespace signal_handles_alloc_test {

using test::ShortOfMemory;

const char* const kName = "a name that is too long for a string without memory of its own";

Durable<int> drops_a_handle(Flow& flow) {
  auto handle = co_await flow.begin_signal<int>(kName);
  co_await flow.wait_until([&] { return handle.arrived(); });
  {
    const ShortOfMemory none(0);
    handle = DurableHandle<int>();
  }
  co_return co_await flow.signal<int>(kName);
}

TEST(SignalHandlesAlloc, AHandleThatIsDroppedWithoutMemoryLosesNoSignal) {
  CrashTest world([] {
    Registry types;
    types.add("drops", 1, drops_a_handle);
    return types;
  });
  world.live([](Host& host) -> Task<void> {
    const DurableRef<int> ref = co_await host.start(drops_a_handle);
    co_await host.signal(ref.id(), kName, 7);
    EXPECT_EQ(co_await ref.result(), 7);
  });
}

}  // namespace signal_handles_alloc_test
}  // namespace tiffany

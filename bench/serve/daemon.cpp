// The daemon that is measured: an App with three types of tasks.
#include <chrono>
#include <cstdint>

#include "tiffany/app/app.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;

namespace {

constexpr SignalName<int> kNews{"news"};

// Nothing but a beginning and an end.
Durable<int> trivial(Flow&) { co_return 1; }

// How long after `sent_ns`, of the clock of the machine, its code began: in ns.
Durable<std::int64_t> stopwatch(Flow&, std::int64_t sent_ns) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  co_return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() - sent_ns;
}

// Waits for signals, for ever.
Durable<int> waiting(Flow& flow) {
  for (;;) co_await flow.signal(kNews);
}

}  // namespace

int main(int count, char** arguments) {
  App app("bench_serve_daemon");
  app.durable("trivial", 1, trivial)
      .durable("stopwatch", 1, stopwatch, {"sent_ns"})
      .durable("waiting", 1, waiting)
      .signal("waiting", kNews);
  return app.main(count, arguments);
}

// What a failure does to the tasks beside it: the three policies of a scope, and system tasks.
#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <stdexcept>
#include <string>

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

Task<int> ask(const std::string& host, Duration delay, bool answers) {
  co_await sleep(delay);
  if (!answers) throw std::runtime_error(host + " does not answer");
  co_return static_cast<int>(host.size());
}

Task<void> ask_everyone() {
  try {
    co_await scope(collect_all, [&](Scope& s) -> Task<void> {
      s.spawn(ask, "oslo", 10ms, false).named("oslo");
      s.spawn(ask, "rome", 20ms, true).named("rome");
      s.spawn(ask, "lima", 30ms, false).named("lima");
      co_return;
    });
  } catch (const TasksFailed& failed) {
    std::printf("%s\n", failed.what());
  }
}

Task<void> ask_anyone() {
  Handle<int> rome;
  Handle<int> lima;
  const TaskId winner = co_await scope(first_success, [&](Scope& s) -> Task<void> {
    s.spawn(ask, "oslo", 10ms, false);
    rome = s.spawn(ask, "rome", 20ms, true);
    lima = s.spawn(ask, "lima", 30ms, true);
    co_return;
  });
  std::printf("rome won: %s, with %d; lima is %s\n", winner == rome.id() ? "yes" : "no",
              co_await rome, name_of(lima.state()));
}

Task<void> flush_log() {
  co_await sleep(5ms);
  throw std::runtime_error("the disk is full");
}

void lose_the_log() {
  Scheduler scheduler(Options().virtual_time().system_failure(SystemFailure::end_run));
  scheduler.spawn(ask, "oslo", 1h, true);
  scheduler.spawn.system()(flush_log).named("flush log");
  try {
    scheduler.run();
  } catch (const SystemTaskFailed& failed) {
    std::printf("%s ended the run: it failed\n", failed.failure().who.c_str());
  }
}

}  // namespace

int main() {
  lose_the_log();
  const int collected = run(ask_everyone(), Options().virtual_time());
  const int decided = run(ask_anyone(), Options().virtual_time());
  return collected + decided;
}

// A print shop: channels, locks and signals between the tasks of one scheduler.
#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

void say(const std::string& text) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now().time_since_epoch());
  std::printf("%4lld ms  %s\n", static_cast<long long>(ms.count()), text.c_str());
}

// ---- A channel

Task<void> customer(Sender<std::string> tray, std::string name) {
  for (const char* what : {" letter", " poster", " book"}) {
    co_await tray.send(name + "'s" + what);  // waits while the tray is full
    say(name + " handed in a" + what);
  }
}  // the sender goes with the task; when the last one has gone, the channel is closed

Task<void> printer(Receiver<std::string> tray) {
  while (auto job = co_await tray.recv()) {
    co_await sleep(10ms);
    say("printed: " + *job);
  }
  say("no more jobs");
}

Task<void> a_day() {
  auto tray = channel<std::string>(2);
  auto printing = spawn(printer, std::move(tray.receiver));
  spawn(customer, tray.sender, "Ann");
  spawn(customer, std::move(tray.sender), "Bob");
  co_await printing;
}

// ---- Several channels at once

Task<void> clerk(Receiver<int> urgent, Receiver<int> normal, ManualResetEvent& closing) {
  for (;;) {
    auto next = co_await race(urgent.recv(), normal.recv(), closing.wait());
    if (next.index == 0) say("urgent: " + std::to_string(*std::get<0>(next.value)));
    if (next.index == 1) say("normal: " + std::to_string(*std::get<1>(next.value)));
    if (next.index == 2) break;
  }
  say("closed, and " + std::to_string(normal.size()) + " left for tomorrow");
}

Task<void> a_counter() {
  auto urgent = channel<int>(4);
  auto normal = channel<int>(4);
  ManualResetEvent closing;
  auto serving = spawn(clerk, urgent.receiver, normal.receiver, std::ref(closing));
  for (int job = 1; job <= 2; ++job) co_await normal.sender.send(job);
  for (int job = 3; job <= 4; ++job) co_await urgent.sender.send(job);
  co_await sleep(1ms);
  closing.set();
  co_await serving;
  auto rest = co_await within(1ms, normal.receiver.recv_many(10));
  say(rest.timed_out() ? "nothing is left" : "something is left");
}

// ---- Locks

class Ledger {
 public:
  Task<void> enter(int cents) {
    auto guard = co_await mutex_.lock();
    const int before = cents_;
    co_await sleep(1ms);  // the ledger is far away; nobody else is in here meanwhile
    cents_ = before + cents;
    changed_.notify_all();
  }
  Task<void> wait_for(int cents) {
    auto guard = co_await mutex_.lock();
    co_await changed_.wait(guard, [&] { return cents_ >= cents; });
    say("earned " + std::to_string(cents_));
  }

 private:
  Mutex mutex_;
  Condition changed_;
  int cents_ = 0;
};

Task<void> copy(Semaphore& copiers, Ledger& ledger, Latch& done, int order) {
  {
    auto permit = co_await copiers.acquire();  // one of two
    co_await sleep(5ms);
    say("copied order " + std::to_string(order));
  }
  co_await ledger.enter(order * 10);
  done.count_down();
}

Task<void> a_rush() {
  Semaphore copiers(2);
  Ledger ledger;
  Latch done(4);
  co_await scope([&](Scope& s) -> Task<void> {
    s.spawn(&Ledger::wait_for, &ledger, 100);
    for (int i = 1; i <= 4; ++i) {
      s.spawn(copy, std::ref(copiers), std::ref(ledger), std::ref(done), i);
    }
    co_await done.wait();
    say("all are served");
  });
}

// ---- What goes wrong

Task<void> staple(Mutex& first, Mutex& second) {
  auto one = co_await first.lock();
  co_await yield();
  auto two = co_await second.lock();
}

void a_deadlock() {
  Mutex paper;
  Mutex stapler;
  Scheduler scheduler(Options().virtual_time());
  scheduler.spawn(staple, std::ref(paper), std::ref(stapler)).named("Ann");
  scheduler.spawn(staple, std::ref(stapler), std::ref(paper)).named("Bob");
  try {
    scheduler.run();
  } catch (const Deadlock& deadlock) {
    std::printf("%s\n", deadlock.what());
  }
}

Task<void> locks_twice(Mutex& mutex) {
  auto guard = co_await mutex.lock();
  auto again = co_await mutex.lock();
}

Task<void> a_relock() {
  Mutex mutex;
  auto handle = spawn(locks_twice, std::ref(mutex)).named("Eve");
  const auto end = co_await handle.outcome();
  try {
    std::rethrow_exception(end.error());
  } catch (const Error& error) {
    std::printf("%s\n", error.what());
  }
}

}  // namespace

int main() {
  run(a_day(), Options().virtual_time());
  run(a_counter(), Options().virtual_time());
  run(a_rush(), Options().virtual_time());
  a_deadlock();
  return run(a_relock(), Options().virtual_time());
}

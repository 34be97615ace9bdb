// Names of hosts and the way to a connection; nobody is asked but what a test puts in place.
#include "tiffany/io/resolve.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/offload.hpp"

namespace tiffany {
namespace resolve_test {

using namespace std::chrono_literals;
using test::code_of;
using test::what_of;

class ResolveTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(ResolveTest);

// A name server that does not answer before it is told to.
class Silent {
 public:
  std::vector<Address> ask() {
    std::unique_lock lock(mutex_);
    ++asked_;
    answers_ = changed_.wait_for(lock, 5s, [this] { return open_; });
    --asked_;
    changed_.notify_all();
    return {Address::loopback(1)};
  }
  void open() {
    std::unique_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, 10s, [this] { return asked_ == 0; });
  }
  bool gave_up() {
    const std::lock_guard lock(mutex_);
    return !answers_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int asked_ = 0;
  bool open_ = false;
  bool answers_ = true;
};

Task<bool> gives_up_a_name(std::shared_ptr<Silent> server) {
  LookUp asks = [server](const std::string&, std::uint16_t) { return server->ask(); };
  ConnectOptions options = ConnectOptions().look_up(asks);
  const auto outcome = co_await within(1ms, connect_to("slow.test", 80, std::move(options)));
  co_return outcome.timed_out();
}

TEST_P(ResolveTest, ALookUpThatIsStuckIsAbandonedByATimeout) {
  const auto server = std::make_shared<Silent>();
  EXPECT_TRUE(run(gives_up_a_name, server).value());
  EXPECT_FALSE(server->gave_up());
  server->open();
}

int answers() { return 42; }

Task<int> asks_beside_stuck_names(std::shared_ptr<Silent> server) {
  LookUp asks = [server](const std::string&, std::uint16_t) { return server->ask(); };
  std::vector<Handle<std::vector<Address>>> all;
  for (int i = 0; i < 40; ++i) {
    all.push_back(spawn(resolve_with, asks, std::string("slow.test"), std::uint16_t{80}));
  }
  co_await yield();
  const int answer = co_await offload(answers);
  EXPECT_EQ((co_await resolve("127.0.0.1", 80))[0], Address::loopback(80)) << "needs no thread";
  EXPECT_FALSE(server->gave_up());
  for (auto& each : all) each.cancel();
  co_return answer;
}

TEST_P(ResolveTest, NamesThatAreStuckBlockNeitherOtherWorkNorAddresses) {
  const auto server = std::make_shared<Silent>();
  EXPECT_EQ(run(asks_beside_stuck_names, server).value(), 42);
  server->open();
}

TEST_P(ResolveTest, WhatCannotBeANameIsRefused) {
  for (const std::string& name : {std::string(), std::string(254, 'a'), std::string("a\0b", 3)}) {
    const auto outcome = run(resolve, name, std::uint16_t{80});
    EXPECT_EQ(code_of(outcome.error()), Errc::bad_address);
    EXPECT_LT(what_of(outcome.error()).size(), 300u);
  }
}

// ---- Happy eyeballs ----

// A listener that answers nobody: its queue is full, and the kernel lets further ones wait.
class Deaf {
 public:
  Deaf() : listener_(Listener::bind(Address::loopback(0), ListenOptions().backlog(0))) {}
  Task<Address> fill() {
    for (;;) {
      auto made = co_await within(30ms, connects(listener_.local()));
      if (made.timed_out()) co_return listener_.local();
      held_.push_back(std::move(made.value()));
    }
  }

 private:
  static Task<Socket> connects(Address to) { co_return co_await connect(to); }
  Listener listener_;
  std::vector<Socket> held_;
};

std::uint16_t port_of_nobody() {
  const Listener gone = Listener::bind(Address::loopback(0));
  return gone.local().port();
}

Task<bool> passes_by_a_deaf_one() {
  Deaf deaf;
  const Address silent = co_await deaf.fill();
  const Listener good = Listener::bind(Address::loopback(0));
  std::vector<Address> all{silent, good.local()};
  const Socket made = co_await connect_any(all, ConnectOptions().stagger(1ms));
  co_return made.peer() == good.local();
}

TEST_P(ResolveTest, AnAddressThatDoesNotAnswerDoesNotHoldUpTheNext) {
  const auto outcome = run(passes_by_a_deaf_one);
  ASSERT_TRUE(outcome.ok()) << what_of(outcome.error());
  EXPECT_TRUE(outcome.value());
}

Task<bool> goes_on_at_once_after_a_refusal() {
  const Listener good = Listener::bind(Address::loopback(0));
  std::vector<Address> all{Address::loopback(port_of_nobody()), good.local()};
  // An hour: only the refusal can start the second one.
  const Socket made = co_await connect_any(all, ConnectOptions().stagger(1h));
  co_return made.peer() == good.local();
}

TEST_P(ResolveTest, AnAddressThatRefusesIsFollowedByTheNextAtOnce) {
  EXPECT_TRUE(run(goes_on_at_once_after_a_refusal).value());
}

Task<Socket> only_refusals(std::size_t count) {
  std::vector<Address> all(count, Address::loopback(port_of_nobody()));
  co_return co_await connect_any(all);
}

TEST_P(ResolveTest, WhenNoAddressAnswersTheErrorNamesEachOfThem) {
  const std::string one = what_of(run(only_refusals, std::size_t{1}).error());
  EXPECT_NE(one.find("Connection refused"), std::string::npos) << one;
  const std::string two = what_of(run(only_refusals, std::size_t{2}).error());
  EXPECT_NE(two.find(": Connection refused, 127.0.0.1:"), std::string::npos) << two;
  EXPECT_LT(what_of(run(only_refusals, std::size_t{100}).error()).size(), 1400u);
  EXPECT_EQ(code_of(run(only_refusals, std::size_t{0}).error()), Errc::bad_argument);
}

Task<bool> by_name() {
  const Listener good = Listener::bind(Address::loopback(0));
  LookUp looks = [](const std::string&, std::uint16_t port) {
    return std::vector<Address>{Address::ip("::1", port), Address::loopback(port)};
  };
  ConnectOptions options = ConnectOptions().look_up(looks);
  const Socket made = co_await connect_to("both.test", good.local().port(), std::move(options));
  co_return made.peer() == good.local();
}

TEST_P(ResolveTest, AHostWithBothKindsOfAddressesIsReachedByTheOneThatWorks) {
  const auto outcome = run(by_name);
  ASSERT_TRUE(outcome.ok()) << what_of(outcome.error());
  EXPECT_TRUE(outcome.value());
}

TEST_P(ResolveTest, AConnectionByNameCanBeCancelledAtEveryStep) { cancel_at_every_step(by_name); }

}  // namespace resolve_test
}  // namespace tiffany

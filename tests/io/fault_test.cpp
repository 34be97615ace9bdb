// The world at its worst: tiny buffers, timeouts at any moment, signals, children that are forked
// meanwhile. No byte may be lost or come twice.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/base/hash.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/io/process.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/io/vectored.hpp"

namespace tiffany {
namespace fault_test {

using namespace std::chrono_literals;

class FaultTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(FaultTest);

// As small as the kernel allows on unix sockets. TCP would spend its time with probes of a closed
// window, so there only what waits to be sent is kept small.
void make_tiny(const Socket& socket) {
  const int least = socket.local()->is_unix() ? 1 : 16'384;
  setsockopt(socket.descriptor().fd(), SOL_SOCKET, SO_SNDBUF, &least, sizeof least);
}

struct Sum {
  std::uint64_t bytes = 0;
  std::uint64_t hash = 0;
  void add(const char* data, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      hash = mix(hash, static_cast<unsigned char>(data[i]));
    }
    bytes += size;
  }
  friend bool operator==(const Sum&, const Sum&) = default;
};

// Writes pieces of random sizes, some under a timeout that may hit in the middle.
Task<Sum> sends(Socket* to, std::uint64_t seed, std::size_t total) {
  Random random(seed, "sender");
  Sum sum;
  while (sum.bytes < total) {
    std::string piece(1 + random.below(20'000), ' ');
    for (char& c : piece) c = static_cast<char>(random.below(256));
    std::size_t went = 0;
    if (random.below(3) == 0) {
      // The count of what went survives the timeout: a write that is cut short returns it.
      co_await within(Duration(static_cast<Duration::rep>(random.below(300'000))),
                      [](Socket* s, std::string* p, std::size_t* n) -> Task<void> {
                        *n = co_await s->write(*p);
                      }(to, &piece, &went));
    } else {
      went = co_await to->write(piece);
    }
    sum.add(piece.data(), went);
  }
  to->shutdown_write();
  co_return sum;
}

// Reads with rooms of random sizes, some under a timeout.
Task<Sum> receives(Socket* from, std::uint64_t seed) {
  Random random(seed, "receiver");
  Sum sum;
  std::vector<char> room(8192);
  for (bool ended = false; !ended;) {
    const std::size_t size = 1 + random.below(room.size());
    std::size_t n = 0;
    bool came = true;
    if (random.below(3) == 0) {
      came = false;
      co_await within(Duration(static_cast<Duration::rep>(random.below(300'000))),
                      [](Socket* s, Room r, std::size_t* got, bool* done) -> Task<void> {
                        *got = co_await s->read(r);
                        *done = true;
                      }(from, Room(room.data(), size), &n, &came));
    } else {
      n = co_await from->read(Room(room.data(), size));
    }
    sum.add(room.data(), n);
    ended = came && n == 0;
  }
  co_return sum;
}

Task<bool> transfers(Address at, std::uint64_t seed, std::size_t total) {
  Listener listener = Listener::bind(at);
  Socket one = co_await connect(listener.local());
  Socket other = co_await listener.accept();
  make_tiny(one);
  make_tiny(other);
  co_return co_await scope([&](Scope& s) -> Task<bool> {
    auto out = s.spawn(sends, &one, seed, total);
    auto back = s.spawn(sends, &other, seed + 1, total);
    auto in = s.spawn(receives, &other, seed + 2);
    auto home = s.spawn(receives, &one, seed + 3);
    const Sum sent = co_await out;
    const Sum got = co_await in;
    const Sum sent_back = co_await back;
    const Sum got_back = co_await home;
    co_return sent == got&& sent_back == got_back;
  });
}

TEST_P(FaultTest, T8_NoByteIsLostBetweenTinyBuffersAndTimeoutsAtAnyMoment) {
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    EXPECT_TRUE(run(transfers, Address::loopback(0), seed, std::size_t{200'000}).value()) << seed;
  }
}

TEST_P(FaultTest, T8_NoByteIsLostOnUnixSocketsEither) {
  const Address at = Address::parse("unix:@tiffany-fault-" + std::to_string(getpid()));
  for (std::uint64_t seed = 10; seed < 15; ++seed) {
    EXPECT_TRUE(run(transfers, at, seed, std::size_t{200'000}).value()) << seed;
  }
}

// Every millisecond a signal interrupts whatever system call is under way.
class Interruptions {
 public:
  Interruptions() {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    sigaction(SIGALRM, &action, &before_);
    const itimerval every{{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &every, nullptr);
  }
  ~Interruptions() {
    const itimerval never{};
    setitimer(ITIMER_REAL, &never, nullptr);
    sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_{};
};

TEST_P(FaultTest, T8_SystemCallsThatSignalsInterruptGoOn) {
  const Interruptions interruptions;
  EXPECT_TRUE(
      run(transfers, Address::loopback(0), std::uint64_t{20}, std::size_t{500'000}).value());
}

Task<std::size_t> forks_under_load() {
  co_return co_await scope([](Scope& s) -> Task<std::size_t> {
    auto traffic =
        s.spawn(transfers, Address::loopback(0), std::uint64_t{30}, std::size_t{300'000});
    std::vector<Handle<ProcessOutput>> children;
    for (int i = 0; i < 20; ++i) {
      children.push_back(s.spawn([]() -> Task<ProcessOutput> {
        co_return co_await run_command(Command("cat"), std::string(10'000, 'x'));
      }));
    }
    std::size_t good = 0;
    for (const ProcessOutput& output : co_await gather(children)) {
      good += output.status.ok() && output.output.size() == 10'000 ? 1 : 0;
    }
    co_return co_await traffic ? good : 0;
  });
}

TEST_P(FaultTest, T8_ProcessesAreStartedWhileTrafficFlows) {
  EXPECT_EQ(run(forks_under_load).value(), 20u);
}

Task<std::string> writes_in_parts() {
  Listener listener = Listener::bind(Address::loopback(0));
  Socket one = co_await connect(listener.local());
  Socket other = co_await listener.accept();
  make_tiny(one);
  const std::string large(300'000, 'm');
  co_return co_await scope([&](Scope& s) -> Task<std::string> {
    s.spawn(
        [](Socket* to, const std::string* middle) -> Task<void> {
          std::vector<Bytes> parts = {"begin ", *middle, "", " end"};
          const std::size_t went = co_await write_parts(*to, parts);
          EXPECT_EQ(went, middle->size() + 10);
          to->shutdown_write();
        },
        &one, &large);
    std::string all;
    std::array<char, 3> few;
    std::array<char, 5000> many;
    for (;;) {
      std::vector<Room> rooms = {Room(few), Room(many)};
      const std::size_t n = co_await read_parts(other, rooms);
      if (n == 0) co_return all;
      all.append(few.data(), std::min(n, few.size()));
      if (n > few.size()) all.append(many.data(), n - few.size());
    }
  });
}

TEST_P(FaultTest, T8_PartsAreWrittenAndReadInTheirOrder) {
  EXPECT_EQ(run(writes_in_parts).value(), "begin " + std::string(300'000, 'm') + " end");
}

}  // namespace fault_test
}  // namespace tiffany

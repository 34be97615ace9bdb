// Rows of the matrix of awaitables: operations of the reactor.
#include <unistd.h>

#include "io/awaitable_matrix.hpp"
#include "tiffany/io/datagram.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/io/wait.hpp"

namespace tiffany::matrix {
namespace awaitable_matrix_io_test {

struct OfRead {
  static constexpr const char* name = "read";
  static auto make(Stage& stage) { return stage.pipe.read_end.read(stage.room); }
  static Task<void> fulfil(Stage& stage) { co_await stage.pipe.write_end.write("x"); }
};
struct OfAccept {  // its result can only be moved
  static constexpr const char* name = "accept";
  struct Listening : Extra {
    Listener listener = Listener::bind(Address::loopback(0));
    Socket client;
  };
  static auto make(Stage& stage) { return stage.extra<Listening>().listener.accept(); }
  static Task<void> fulfil(Stage& stage) {
    auto& its = stage.extra<Listening>();
    its.client = co_await connect(its.listener.local());
  }
};
struct OfOffload {
  static constexpr const char* name = "offload";
  static auto make(Stage&) {
    return offload([] { return 1; });
  }
  static Task<void> fulfil(Stage&) { co_return; }
};
struct OfReadable {
  static constexpr const char* name = "readable";
  static auto make(Stage& stage) { return readable(stage.pipe.read_end.descriptor().fd()); }
  static Task<void> fulfil(Stage& stage) { return OfRead::fulfil(stage); }
};
struct OfSignal {
  static constexpr const char* name = "signal";
  struct Caught : Extra {
    Signals signals{SIGUSR2};
  };
  static auto make(Stage& stage) { return stage.extra<Caught>().signals.next(); }
  static Task<void> fulfil(Stage&) {
    EXPECT_EQ(kill(getpid(), SIGUSR2), 0);
    co_return;
  }
};
struct OfMulticast {
  static constexpr const char* name = "multicast receive";
  struct Group : Extra {
    Group() {
      hears.join(group, "lo");
      says.multicast_through("lo");
    }
    DatagramSocket hears = DatagramSocket::bind(Address::ip("0.0.0.0", 0));
    Address group = Address::ip("239.255.7.9", hears.local().port());
    DatagramSocket says = DatagramSocket::unbound(AF_INET);
  };
  static auto make(Stage& stage) { return stage.extra<Group>().hears.receive(stage.room); }
  static Task<void> fulfil(Stage& stage) {
    auto& its = stage.extra<Group>();
    co_await its.says.send("x", its.group);
  }
};

}  // namespace awaitable_matrix_io_test
using namespace awaitable_matrix_io_test;

void add_io_rows(Cells& cells) {
  add_rows<OfRead, OfAccept, OfOffload>(cells);
  add_short_rows<OfReadable, OfSignal, OfMulticast>(cells);
}

}  // namespace tiffany::matrix

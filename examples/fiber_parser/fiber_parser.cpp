// A library that reads by blocking, on the scheduler: it runs in fibers, and its reads become
// waits.
//
// The library below knows nothing of tasks. It takes a FILE, as such libraries do, and parses it
// with fscanf. The C library asks for more bytes through a callback, ten calls down; there, in a
// fiber, one can wait. So several of them run at a time, on one thread, and each can be given up
// when it takes too long.
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/tiffany.hpp"

// ---- The library

namespace ledger {

using OnEntry = void (*)(const char* name, long amount, void* user);

// Reads entries like `apples 3` to the end of the file, and returns the sum of their amounts.
long read(std::FILE* file, OnEntry on_entry, void* user) {
  char name[32];
  long amount = 0;
  long sum = 0;
  while (std::fscanf(file, "%31s %ld", name, &amount) == 2) {
    on_entry(name, amount, user);
    sum += amount;
  }
  return sum;
}

}  // namespace ledger

// ---- The program

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

void print(const std::string& text) {
  std::printf("%3d ms  %s\n", static_cast<int>(now().time_since_epoch() / 1ms), text.c_str());
}

// Stands for a socket: pieces arrive after a while, and need not end where an entry ends.
class Connection {
 public:
  Connection(std::string name, Duration pause, std::vector<std::string> pieces)
      : name_(std::move(name)), pause_(pause), pieces_(std::move(pieces)) {}
  const std::string& name() const { return name_; }

  // An empty piece is the end.
  Task<std::string> receive() {
    co_await sleep(pause_);
    co_return next_ < pieces_.size() ? pieces_[next_++] : std::string();
  }

 private:
  std::string name_;
  Duration pause_;
  std::vector<std::string> pieces_;
  std::size_t next_ = 0;
};

// What the C library calls when it has nothing left to parse. The pieces are smaller than its
// buffer.
ssize_t wait_for_more(void* connection, char* buffer, std::size_t) {
  const std::string piece = await(static_cast<Connection*>(connection)->receive());
  std::memcpy(buffer, piece.data(), piece.size());
  return static_cast<ssize_t>(piece.size());
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// A plain function that returns when everything has arrived.
long read_ledger(Connection connection) {
  cookie_io_functions_t calls = {};
  calls.read = &wait_for_more;
  const std::unique_ptr<std::FILE, CloseFile> file(fopencookie(&connection, "r", calls));
  const auto on_entry = [](const char* name, long amount, void* from) {
    print(*static_cast<const std::string*>(from) + ": " + name + " " + std::to_string(amount));
  };
  std::string name = connection.name();
  return ledger::read(file.get(), on_entry, &name);
}

Task<void> program() {
  auto north =
      spawn_fiber(read_ledger, Connection("north", 30ms, {"apples 3\npe", "ars 4\nplums", " 5\n"}));
  auto south = spawn_fiber(read_ledger,
                           Connection("south", 20ms, {"tea 1", "0\ncoffee 20\nsu", "gar 30\n"}));
  auto east = spawn_fiber([] {
    const auto sum = fiber::within(50ms, [] {
      Connection slow("east", 40ms, {"salt 1\n", "pepper 2\n"});
      return read_ledger(std::move(slow));
    });
    print(sum.timed_out() ? "east: given up" : "east: complete");
  });
  auto both = co_await gather(north, south);
  print("north and south: " + std::to_string(both.get<0>() + both.get<1>()));
  co_await east;
}

}  // namespace

int main() { return run(program(), Options().virtual_time()); }

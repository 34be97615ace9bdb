// A bounded fan-out: a thousand pages from a local server, at most fifty at a time.
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "tiffany/io/buffered.hpp"
#include "tiffany/io/serve.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/tiffany.hpp"

using namespace std::chrono_literals;
using namespace tiffany;

// ---- A server that gives every page its number, and counts who is there at a time ----

struct Counts {
  std::size_t now = 0;
  std::size_t most = 0;
  std::size_t served = 0;
};

Task<void> give_page(Socket client, Counts* counts) {
  counts->most = std::max(counts->most, ++counts->now);
  BufferedReader reader(client);
  const auto request = co_await reader.line();
  co_await sleep(1ms);
  co_await client.write("page " + request.value_or("GET ?").substr(4) + "\n");
  --counts->now;
  ++counts->served;
}

// ---- The fan-out ----

Task<std::string> fetch(Address server, int number, Semaphore* slots) {
  const auto slot = co_await slots->acquire();  // waits for one of fifty
  Socket socket = co_await connect(server);
  co_await socket.write("GET " + std::to_string(number) + "\n");
  BufferedReader reader(socket);
  const auto line = co_await reader.line();
  co_return line.value_or("");
}

Task<void> fetch_all(Address server) {
  Semaphore slots(50);
  co_await scope([&](Scope& s) -> Task<void> {
    std::vector<Handle<std::string>> pages;
    for (int i = 0; i < 1000; ++i) pages.push_back(s.spawn(fetch, server, i, &slots));
    const std::vector<std::string> texts = co_await gather(pages);
    std::printf("%zu pages, the last is \"%s\"\n", texts.size(), texts.back().c_str());
  });
}

Task<void> until_ctrl_c(Signals* stop) { co_await stop->next(); }

Task<void> program() {
  Signals stop({SIGINT, SIGTERM});
  Listener listener = Listener::bind(Address::loopback(0));
  Counts counts;
  co_await race(serve(listener, give_page, &counts), fetch_all(listener.local()),
                until_ctrl_c(&stop));
  std::printf("%s than 50 at a time\n", counts.most <= 50 ? "never more" : "more");
}

int main() { return run(program()); }

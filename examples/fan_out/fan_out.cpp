// A thousand pages are measured, each by a durable task of its own, at most fifty at a time; and
// the process that does it dies again and again.
#include <tiffany/durable/crash_test.hpp>
#include <tiffany/durable/map_children.hpp>
#include <tiffany/tiffany.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <set>
#include <string>
#include <vector>

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

std::set<int> measured;
int at_once = 0, most_at_once = 0;

Task<int> measure(int page) {
  struct Visit {
    Visit() { most_at_once = std::max(most_at_once, ++at_once); }
    ~Visit() { --at_once; }
  } visit;
  co_await sleep(std::chrono::seconds(1 + page % 7));
  if (CrashTest::alive()) measured.insert(page);
  co_return page % 100;
}

Durable<int> page_size(Flow& flow, int page) {
  co_return co_await flow.step("measure", [&] { return measure(page); });
}

Durable<int> site_size(Flow& flow, int pages) {
  std::vector<int> all(static_cast<std::size_t>(pages));
  std::iota(all.begin(), all.end(), 0);
  const std::vector<int> sizes = co_await map_children<int>(flow, 50, "page_size", all);
  co_return std::accumulate(sizes.begin(), sizes.end(), 0);
}

Registry types() {
  Registry all;
  all.add("page_size", 1, page_size);
  all.add("site_size", 1, site_size);
  return all;
}

}  // namespace

int main() {
  CrashTest test(types);
  const Uuid id = Uuid::derived(Uuid(), "site");
  int total = 0, lives = 0;
  for (bool ended = false; !ended; ++lives) {
    ended = test.live(
        [&](Host& host) -> Task<void> {
          co_await host.start_as(id, "site_size", 1000);
          total = co_await host.result<int>(id);
        },
        static_cast<std::size_t>(1000 + lives * 500));  // a little longer each time
  }
  std::printf("%zu pages in %s, at most %d at a time, in %s processes\n", measured.size(),
              total == 49500 ? "49500 bytes" : "another number of bytes", most_at_once,
              lives > 2 ? "several" : "few");
}

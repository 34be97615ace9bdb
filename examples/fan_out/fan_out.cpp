// A thousand pages are measured, each by a durable task of its own, at most fifty at a time and not
// more than ten a second; and the process that does it dies again and again.
#include <tiffany/durable/crash_test.hpp>
#include <tiffany/durable/map_children.hpp>
#include <tiffany/tiffany.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

std::set<int> visited, measured;
int at_once = 0, most_at_once = 0, lives = 0;
std::map<std::pair<int, std::int64_t>, int> begun;  // in each second of each life

Task<int> measure(int page) {
  struct Visit {
    Visit() { most_at_once = std::max(most_at_once, ++at_once); }
    ~Visit() { --at_once; }
  } visit;
  if (visited.insert(page).second)
    ++begun[{lives, Scheduler::current()->now().time_since_epoch() / 1s}];
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
  all.add("page_size", 1, page_size, TypeOptions().rate(10, 1s));
  all.add("site_size", 1, site_size);
  return all;
}

}  // namespace

int main() {
  CrashTest test(types);
  const Uuid id = Uuid::derived(Uuid(), "site");
  int total = 0;
  for (bool ended = false; !ended; ++lives) {
    ended = test.live(
        [&](Host& host) -> Task<void> {
          co_await host.start_as(id, "site_size", 1000);
          total = co_await host.result<int>(id);
        },
        static_cast<std::size_t>(1000 + lives * 500));  // a little longer each time
  }
  int most = 0;  // a process begins with ten, and goes on with ten a second
  for (const auto& [second, count] : begun) most = std::max(most, count);
  std::printf("%zu pages in %s, %s at a time, %s a second, in %s processes\n", measured.size(),
              total == 49500 ? "49500 bytes" : "another number of bytes",
              most_at_once <= 50 ? "at most 50" : "too many", most <= 20 ? "about 10" : "too many",
              lives > 2 ? "several" : "few");
}

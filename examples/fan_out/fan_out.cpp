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
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "../outside.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

std::set<int> visited;
Outside measured;
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
  if (CrashTest::alive()) measured.add(std::to_string(page));
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

Task<void> site(Host& host) {
  const Uuid id = Uuid::derived(Uuid(), "site");
  co_await host.start_as(id, "site_size", 1000);
  const int bytes = co_await host.result<int>(id);
  if (bytes != 49500) throw std::runtime_error("it does not add up");
}

}  // namespace

int main(int count, char** arguments) {
  if (count > 1) return measured.live_in(arguments[1], types(), site);
  CrashTest test(types);
  for (bool ended = false; !ended; ++lives)  // a little longer each time
    ended = test.live(site, static_cast<std::size_t>(1000 + lives * 500));
  int most = 0;  // a process begins with ten, and goes on with ten a second
  for (const auto& [second, pages] : begun) most = std::max(most, pages);
  std::printf("%zu pages in 49500 bytes, %s at a time, %s a second, in %s processes\n",
              measured.size(), most_at_once <= 50 ? "at most 50" : "too many",
              most <= 20 ? "about 10" : "too many", lives > 2 ? "several" : "few");
}

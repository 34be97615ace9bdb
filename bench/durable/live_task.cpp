// What one live durable task has in memory: every allocation of the heap that is left when a log
// was opened and all of its tasks wait, with its size and the function that made it, and what the
// arena of the scheduler has for it (frames and records of tasks).
//
//   bench_durable_live_task [tasks]
//
// Sizes are per task; those below a byte are of the host. Names of functions need -rdynamic, which
// this program is linked with.
#include <cxxabi.h>
#include <execinfo.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/memory_disk.hpp"

namespace {

constexpr int kDepth = 16;
struct Made {
  std::size_t size = 0;
  void* by[kDepth] = {};
  int depth = 0;
};
// Of the C library, so that the table does not count itself.
template <class T>
struct Plain {
  using value_type = T;
  Plain() = default;
  template <class U>
  explicit Plain(const Plain<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(std::malloc(n * sizeof(T))); }
  void deallocate(T* p, std::size_t) { std::free(p); }
  bool operator==(const Plain&) const { return true; }
};
using Table = std::unordered_map<void*, Made, std::hash<void*>, std::equal_to<>,
                                 Plain<std::pair<void* const, Made>>>;
Table* table = nullptr;

void* counted(std::size_t size) {
  void* const block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  if (Table* const all = std::exchange(table, nullptr)) {
    Made made;
    made.size = (size + 8 + 15) / 16 * 16;  // as malloc rounds it
    made.depth = backtrace(made.by, kDepth);
    all->emplace(block, made);
    table = all;
  }
  return block;
}
void freed(void* block) noexcept {
  if (Table* const all = std::exchange(table, nullptr)) {
    all->erase(block);
    table = all;
  }
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return counted(size); }
void* operator new[](std::size_t size) { return counted(size); }
void operator delete(void* block) noexcept { freed(block); }
void operator delete(void* block, std::size_t) noexcept { freed(block); }
void operator delete[](void* block) noexcept { freed(block); }
void operator delete[](void* block, std::size_t) noexcept { freed(block); }

namespace {

using namespace tiffany;

// As bench/durable/ours.cpp has it.
Durable<int> waiting(Flow& flow, int steps) {
  int sum = 0;
  for (int i = 0; i < steps; ++i) sum += co_await flow.step("add", [i] { return i; });
  auto never = co_await flow.promise<int>("never");
  co_return sum + co_await never;
}

std::string name_of_function(void* address) {
  char** const text = backtrace_symbols(&address, 1);
  const std::string all = text[0];
  std::free(text);
  const std::size_t from = all.find('(');
  const std::size_t to = all.find('+', from);
  if (from == std::string::npos || to == std::string::npos) return all;
  int status = 0;
  char* const clear =
      abi::__cxa_demangle(all.substr(from + 1, to - from - 1).c_str(), nullptr, nullptr, &status);
  const std::string name = status == 0 ? clear : all.substr(from + 1, to - from - 1);
  std::free(clear);
  return name.substr(0, name.find('('));
}

// The innermost functions of the library that are not those of a container.
std::string site_of(const Made& made) {
  std::string site;
  int found = 0;
  for (int i = 2; i < made.depth && found < 2; ++i) {
    const std::string name = name_of_function(made.by[i]);
    if (name.find("std::") != std::string::npos && name.find("tiffany::") != 0) continue;
    if (name.find("tiffany::") == std::string::npos) continue;
    site += (site.empty() ? "" : " < ") + name;
    ++found;
  }
  return site;
}

Task<void> start_all(Host* host, std::size_t tasks) {
  co_await host->open();
  for (std::size_t i = 0; i < tasks; ++i) co_await host->start("waiting", 3);
  co_await sleep(std::chrono::seconds(1));
  co_await host->close();
}
Task<void> open(Host* host) {
  co_await host->open();
  co_await sleep(std::chrono::seconds(1));
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t tasks = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  Registry types;
  types.add("waiting", 1, waiting);
  wal::LogOptions log("wal");
  log.disk = std::make_shared<wal::MemoryDisk>();
  {
    Scheduler scheduler(Options().virtual_time());
    Host host(types, log);
    scheduler.spawn(start_all, &host, tasks);
    scheduler.run();
  }
  Table all;
  Scheduler scheduler(Options().virtual_time());
  Host host(types, log);
  const std::size_t before = scheduler.arena().live_bytes();
  table = &all;
  auto opened = scheduler.spawn(open, &host);
  while (!opened.done()) {
    if (!scheduler.step()) scheduler.poll(kEndOfTime);
  }
  table = nullptr;
  std::map<std::pair<std::size_t, std::string>, std::size_t> sites;
  double heap = 0;
  std::unordered_map<void*, std::string> names;
  for (const auto& [block, made] : all) {
    heap += static_cast<double>(made.size);
    ++sites[{made.size, site_of(made)}];
  }
  const auto each = static_cast<double>(tasks);
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [site, count] : sites) {
    const double bytes = static_cast<double>(site.first * count) / each;
    char row[512];
    std::snprintf(row, sizeof row, "%8.1f B  %5.2f x %6zu B  %s", bytes,
                  static_cast<double>(count) / each, site.first, site.second.c_str());
    if (bytes >= 1) rows.emplace_back(bytes, row);
  }
  std::sort(rows.begin(), rows.end(), std::greater<>());
  for (const auto& [bytes, row] : rows) std::printf("%s\n", row.c_str());
  const double arena = static_cast<double>(scheduler.arena().live_bytes() - before) / each;
  std::printf("heap %.0f B, arena %.0f B in %.2f blocks, together %.0f B for each task\n",
              heap / each, arena, static_cast<double>(scheduler.arena().live_blocks()) / each,
              heap / each + arena);
  std::fflush(stdout);
  std::_Exit(0);  // as in a crash
}

// Shared by the C++ programs of bench/core: clocks, memory, pinning, options, output.
//
// Every run of every workload happens in a forked child. Benchmarks that touch fresh memory, such
// as fan-out, skynet and RSS, would otherwise be given the heap that an earlier one left behind,
// and the order of the list would change the figures. A child that dies costs only its own figure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

namespace bench {

// CPU time of this thread: on a shared machine it is not charged for the neighbours' turns.
inline double thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// CPU nanoseconds that `fn` takes.
template <class Fn>
double cpu_ns_of(Fn fn) {
  const double start = thread_cpu_ns();
  fn();
  return thread_cpu_ns() - start;
}

// Resident bytes of this process; 0 if /proc cannot be read.
inline std::size_t rss_bytes() {
  std::FILE* statm = std::fopen("/proc/self/statm", "r");
  if (statm == nullptr) return 0;
  std::size_t total_pages = 0;
  std::size_t resident_pages = 0;
  const int fields = std::fscanf(statm, "%zu %zu", &total_pages, &resident_pages);
  std::fclose(statm);
  if (fields != 2) return 0;
  return resident_pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// Pins to the last core we are allowed on: the kernel gives most interrupts to the first.
inline void pin_to_one_core() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  int last = CPU_SETSIZE - 1;
  while (last > 0 && !CPU_ISSET(last, &allowed)) --last;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(last, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// Makes the compiler believe that `value` is used.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// A benchmark that computes the wrong thing must not report how fast it did so.
inline void check(bool ok, const char* what) {
  if (ok) return;
  std::fprintf(stderr, "bench: check failed: %s\n", what);
  std::abort();
}

// For what spoils a figure without making it wrong.
inline void warn_if(bool happened, const char* what) {
  if (happened) std::fprintf(stderr, "bench: %s\n", what);
}

// The same pseudo-random order in every program and every run.
inline std::vector<std::uint32_t> shuffled_order(std::size_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::shuffle(order.begin(), order.end(), std::mt19937_64(42));
  return order;
}

// Deadlines of `count` timers, uniform over `count` microseconds (1M: one second). The rate stays
// the same when there are fewer, so that as many of them are due each time a loop wakes up.
inline std::vector<std::uint64_t> random_delays_ns(std::size_t count) {
  std::mt19937_64 random(7);
  std::vector<std::uint64_t> delays(count);
  for (std::uint64_t& delay : delays) delay = random() % (count * 1000);
  return delays;
}

// Of what is counted per second there is never enough; of everything else there is always too much.
inline bool is_rate(const char* unit) {
  const std::size_t size = std::strlen(unit);
  return size >= 2 && std::strcmp(unit + size - 2, "/s") == 0;
}

// Smallest of `runs` results, or the largest of rates: noise only ever makes it worse.
template <class Fn>
double best_of(int runs, bool rate, Fn fn) {
  double best = fn();
  for (int run = 1; run < runs; ++run) {
    const double value = fn();
    best = rate ? std::max(best, value) : std::min(best, value);
  }
  return best;
}

// Runs `fn` in a forked child and returns what it returned; nothing if the child died.
template <class Fn>
std::optional<double> in_child(Fn fn) {
  int ends[2];
  if (pipe(ends) != 0) return std::nullopt;
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) {
    close(ends[0]);
    close(ends[1]);
    return std::nullopt;
  }
  if (child == 0) {
    const double value = fn();
    const bool sent = write(ends[1], &value, sizeof value) == sizeof value;
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  double value = 0;
  const bool received = read(ends[0], &value, sizeof value) == sizeof value;
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!received) return std::nullopt;
  return value;
}

// One result, one line of JSON.
inline void emit(const char* name, const char* unit, double value) {
  std::printf("{\"name\":\"%s\",\"unit\":\"%s\",\"value\":%.2f}\n", name, unit, value);
  std::fflush(stdout);
}

struct Options {
  bool quick = false;
  int runs = 0;  // 0: the defaults of Suite
  std::vector<std::string> only;
};

[[noreturn]] inline void usage(const char* program) {
  std::fprintf(stderr, "usage: %s [--quick] [--runs N] [--only name[,name...]]\n", program);
  std::exit(2);
}

inline std::vector<std::string> split_names(const std::string& list) {
  std::vector<std::string> names;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

inline Options parse_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--quick") == 0) {
      options.quick = true;
    } else if (std::strcmp(argv[i], "--runs") == 0 && has_value) {
      options.runs = std::atoi(argv[++i]);
      if (options.runs < 1) usage(argv[0]);
    } else if (std::strcmp(argv[i], "--only") == 0 && has_value) {
      options.only = split_names(argv[++i]);
    } else {
      usage(argv[0]);
    }
  }
  return options;
}

// How often a workload is run by default. Heavy ones are slow and do not count first touches of
// memory; the others get a second run even in quick mode, because on a virtual machine the first
// touch of a page that the host has to find costs several times that of a page it still holds.
enum class Weight { light, heavy };

// Where the programs of a suite run. Those that wait for a disk have threads of the kernel to help
// them.
enum class Cores { one, all };

// Pins the process, then runs the workloads asked for, each run in its own child.
class Suite {
 public:
  Suite(int argc, char** argv, Cores cores = Cores::one) : options_(parse_options(argc, argv)) {
    if (cores == Cores::one) pin_to_one_core();
  }

  bool quick() const { return options_.quick; }
  std::size_t scale(std::size_t full, std::size_t quick) const {
    return options_.quick ? quick : full;
  }

  template <class Fn>
  void run(const char* name, const char* unit, Weight weight, Fn fn) const {
    if (!wanted(name)) return;
    bool alive = true;
    const double best = best_of(runs(weight), is_rate(unit), [&] {
      const std::optional<double> value = in_child(fn);
      alive = alive && value.has_value();
      return value.value_or(0);
    });
    if (alive) {
      emit(name, unit, best);
    } else {
      std::fprintf(stderr, "bench: %s died and is left out\n", name);
    }
  }

 private:
  bool wanted(const char* name) const {
    const auto& only = options_.only;
    return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
  }

  int runs(Weight weight) const {
    if (options_.runs > 0) return options_.runs;
    if (weight == Weight::heavy) return options_.quick ? 1 : 3;
    return options_.quick ? 2 : 5;
  }

  Options options_;
};

// How often each of `tasks` tasks yields, so that there are at least 10M yields (quick: 2M) in all
// and, in a full run, at least 16 per task.
inline std::size_t yield_rounds(std::size_t tasks, bool quick) {
  const std::size_t total = quick ? 2'000'000 : 10'000'000;
  return std::max<std::size_t>(total / tasks, quick ? 2 : 16) + 1;
}

// Clock of the yield workloads: runs from the moment the last task has started until the first one
// ends, so that neither spawning nor destruction is counted.
class YieldClock {
 public:
  YieldClock(std::size_t tasks, std::size_t rounds)
      : unstarted_(tasks), yields_(tasks * (rounds - 1) + 1), rounds_(rounds) {}

  std::size_t rounds() const { return rounds_; }

  void task_started() {
    if (--unstarted_ == 0) start_ns_ = thread_cpu_ns();
  }
  void task_ended() {
    if (stop_ns_ == 0) stop_ns_ = thread_cpu_ns();
  }

  // In FIFO order all but the last task have yielded once before the clock starts, and none but
  // the first has come back from its last yield when it stops: rounds - 1 each, and one.
  double ns_per_yield() const {
    check(unstarted_ == 0 && stop_ns_ > start_ns_, "every task has started, one has ended");
    return (stop_ns_ - start_ns_) / static_cast<double>(yields_);
  }

 private:
  std::size_t unstarted_;
  std::size_t yields_;
  std::size_t rounds_;
  double start_ns_ = 0;
  double stop_ns_ = 0;
};

// Skynet: a tree of fan-out 10 over `leaves` leaves, of which number i returns i.
inline constexpr std::uint64_t skynet_leaves = 1'000'000;
inline constexpr std::uint64_t skynet_sum(std::uint64_t leaves) {
  return leaves * (leaves - 1) / 2;
}

}  // namespace bench

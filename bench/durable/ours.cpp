// Durable tasks on a scheduler of the real world, over a journal on the disk.
#include "null_disk.hpp"
#include "tiffany/durable/host.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/log.hpp"
#include "workloads.hpp"

namespace {

using namespace durable_rows;
using namespace tiffany;

Latencies* latencies = nullptr;

Durable<int> trivial(Flow& flow, int steps) {
  int sum = 0;
  for (int i = 0; i < steps; ++i) sum += co_await flow.step("add", [i] { return i; });
  co_return sum;
}

// As trivial, with an eye on the clock, which is no business of a durable task.
Durable<int> timed(Flow& flow, int steps) {
  int sum = 0;
  for (int i = 0; i < steps; ++i) {
    const Stopwatch watch;
    sum += co_await flow.step("add", [i] { return i; });
    latencies->add(watch.us());
  }
  co_return sum;
}

Durable<int> waiting(Flow& flow, int steps) {
  int sum = 0;
  for (int i = 0; i < steps; ++i) sum += co_await flow.step("add", [i] { return i; });
  const auto promise = co_await flow.promise<int>("answer");
  co_return sum + co_await promise;
}

// Forgets its history from time to time. The clock runs during the last thousand steps.
struct Span {
  double start = 0;
  double ns = 0;
};
Span* span = nullptr;
constexpr int kMeasured = 1000;

Durable<int> with_checkpoints(Flow& flow, int steps) {
  auto [begin, sum] = flow.state(std::pair<int, int>(0, 0));
  for (int i = begin; i < steps; ++i) {
    if (i == steps - kMeasured) span->start = bench::thread_cpu_ns();
    if (i % kMeasured == kMeasured / 2 && i != begin) {
      const std::pair<int, int> state(i, sum);
      co_await flow.checkpoint(state);
    }
    sum += co_await flow.step("add", [i] { return i & 1; });
  }
  span->ns = bench::thread_cpu_ns() - span->start;
  co_return sum;
}

Registry all_types() {
  Registry types;
  types.add("trivial", 1, trivial);
  types.add("timed", 1, timed);
  types.add("waiting", 1, waiting);
  types.add("with_checkpoints", 1, with_checkpoints);
  return types;
}

int sum_of(std::size_t steps) { return static_cast<int>(steps * (steps - 1) / 2); }

// Starts tasks one after the other, each when the one before it has ended.
Task<void> one_by_one(Host* host, std::string type, std::size_t tasks, std::size_t steps) {
  for (std::size_t i = 0; i < tasks; ++i) {
    const Uuid id = co_await host->start(type, static_cast<int>(steps));
    const int sum = co_await host->result<int>(id);
    bench::check(sum == sum_of(steps), "a task gives its sum");
  }
}

struct Load {
  const char* type = "trivial";
  std::size_t at_once = 1;
  std::size_t tasks_each = 1;
  std::size_t steps = 1;
  std::size_t all_steps() const { return at_once * tasks_each * steps; }
};
struct Measured {
  double seconds = 0;
  double bytes_per_step = 0;
  std::uint64_t syncs = 0;
};

Task<Measured> measure(std::string directory, Load load) {
  const Registry types = all_types();
  Host host(types, wal::LogOptions(std::move(directory)));
  co_await host.open();
  const wal::LogCounters before = host.store().counters();
  Measured measured;
  const Stopwatch watch;
  co_await scope([&](Scope& all) -> Task<void> {
    for (std::size_t i = 0; i < load.at_once; ++i) {
      all.spawn(one_by_one, &host, std::string(load.type), load.tasks_each, load.steps);
    }
    co_return;
  });
  measured.seconds = watch.seconds();
  const wal::LogCounters& after = host.store().counters();
  measured.bytes_per_step =
      static_cast<double>(after.bytes - before.bytes) / static_cast<double>(load.all_steps());
  measured.syncs = after.syncs - before.syncs;
  co_await host.close();
  co_return measured;
}

Measured run(const Load& load) {
  const Scratch scratch;
  Scheduler scheduler;
  const Measured measured = run_on(scheduler, measure(scratch.path() + "/wal", load));
  if (std::getenv("TIFFANY_BENCH_DETAILS") != nullptr) {
    std::fprintf(stderr, "%zu steps in %.3f s, %llu syncs, %.0f bytes a step\n", load.all_steps(),
                 measured.seconds, static_cast<unsigned long long>(measured.syncs),
                 measured.bytes_per_step);
  }
  return measured;
}
double steps_per_second(const Load& load) {
  return static_cast<double>(load.all_steps()) / run(load).seconds;
}

double sequential(const bench::Suite& suite) {
  return steps_per_second({"trivial", 1, 1, sequential_steps(suite)});
}
double with_64(const bench::Suite& suite) {
  return steps_per_second({"trivial", 64, generations(suite, 64), kSteps});
}
double with_512(const bench::Suite& suite) {
  return steps_per_second({"trivial", 512, generations(suite, 512), kSteps});
}
double many(const bench::Suite& suite) {
  return steps_per_second({"trivial", many_tasks(suite), 1, kStepsOfMany});
}
double bytes(const bench::Suite& suite) {
  return run({"trivial", 1, 1, sequential_steps(suite)}).bytes_per_step;
}
double p99(const bench::Suite& suite) {
  Latencies all;
  latencies = &all;
  run({"timed", 64, generations(suite, 64), kSteps});
  return all.at(0.99);
}
double median(const bench::Suite& suite) {
  Latencies all;
  latencies = &all;
  run({"timed", 1, 1, sequential_steps(suite)});
  return all.at(0.5);
}

// ---- Reading a log

// Segments as the journal leaves them, full of the records of a thousand tasks.
void write_segments(const std::string& directory, std::size_t size) {
  constexpr std::size_t kSegment = std::size_t{16} << 20;
  Random random(7, "tasks");
  std::vector<std::string> tasks(1000);
  for (std::string& task : tasks) task = Uuid::random(random).text();
  std::vector<std::uint64_t> seqs(tasks.size());
  const std::string nil = Uuid().text();
  const std::string ts = wal::text_of_time(1'700'000'000'000'000);
  std::size_t total = 0;
  std::size_t whose = 0;
  std::uint64_t after = 0;
  for (std::uint32_t number = 1; total < size; ++number) {
    std::string bytes;
    const std::string owner = "\"epoch\":1,\"pid\":1,\"segment\":" + std::to_string(number) +
                              ",\"after\":" + std::to_string(after);
    wal::Entry first{wal::RecordType::Owner, nil, owner};
    first.seq = number;
    wal::append_line(bytes, first, ts, 0, true);
    const std::uint32_t seed = wal::seed_of_segment(number);
    for (std::size_t i = 0; bytes.size() + 1000 < kSegment; ++i) {
      const bool spawn = seqs[whose] == 0;
      const std::string payload = spawn ? R"("name":"trivial","version":1,"args":[1000])"
                                        : "\"step\":\"add#" + std::to_string(seqs[whose]) +
                                              "\",\"result\":" + std::to_string(total % 1000);
      wal::Entry entry{spawn ? wal::RecordType::Spawn : wal::RecordType::StepEnd, tasks[whose],
                       payload};
      entry.seq = ++seqs[whose];
      entry.tid = whose;
      entry.vt = 1'000'000'000;
      wal::append_line(bytes, entry, ts, seed, i % 100 == 0);
      whose = (whose + 1) % tasks.size();
    }
    after = bytes.size();
    total += bytes.size();
    bytes.resize(kSegment);
    const std::string path = directory + "/" + wal::segment_name(number);
    std::FILE* const file = std::fopen(path.c_str(), "w");
    bench::check(file != nullptr && std::fwrite(bytes.data(), 1, kSegment, file) == kSegment,
                 "a segment can be written");
    std::fclose(file);
  }
}

double scan_speed(const bench::Suite& suite) {
  const Scratch scratch;
  write_segments(scratch.path(), suite.scale(std::size_t{1} << 30, std::size_t{64} << 20));
  const auto disk = wal::system_disk();
  const Stopwatch watch;
  const wal::LogIndex index = wal::scan(*disk, scratch.path(), wal::Layout::journal);
  const double seconds = watch.seconds();
  bench::check(index.damage.empty() && index.tasks.size() == 1001, "everything is found");
  return static_cast<double>(index.bytes) / 1e6 / seconds;
}

Task<void> start_one(Host* host) { co_await host->start("waiting", 3); }

Task<void> leave_waiting(Host* host, std::size_t tasks, bool* done) {
  co_await host->open();
  co_await scope([&](Scope& all) -> Task<void> {
    for (std::size_t i = 0; i < tasks; ++i) all.spawn(start_one, host);
    co_return;
  });
  // A beginning, three steps and a promise of each.
  while (host->store().counters().records < 5 * tasks) co_await sleep(std::chrono::milliseconds(1));
  co_await host->store().flush();
  *done = true;
}

struct Resumed {
  double seconds = 0;
  double bytes_each = 0;
};
Task<void> resume_all(Host* host, std::size_t tasks, Resumed* resumed, bool* done) {
  const std::size_t before = bench::rss_bytes();
  const Stopwatch watch;
  const Recovery recovery = co_await host->open();
  resumed->seconds = watch.seconds();
  bench::check(recovery.resumed == tasks, "every task is resumed");
  resumed->bytes_each =
      static_cast<double>(bench::rss_bytes() - before) / static_cast<double>(tasks);
  *done = true;
}

// Until it is done; what is left then is left to the end of the process, as in a crash.
template <class F, class... Args>
void run_and_leave(const std::string& directory, F program, Args... args) {
  auto* const scheduler = new Scheduler;
  auto* const types = new Registry(all_types());
  auto* const host = new Host(*types, wal::LogOptions(directory));
  bool done = false;
  scheduler->spawn(program, host, args..., &done);
  while (!done) scheduler->poll(scheduler->now() + std::chrono::seconds(1));
}

Resumed resume(std::size_t tasks) {
  const Scratch scratch;
  bench::in_child([&] {
    run_and_leave(scratch.path() + "/wal", leave_waiting, tasks);
    return 0.0;
  });
  Resumed resumed;
  run_and_leave(scratch.path() + "/wal", resume_all, tasks, &resumed);
  return resumed;
}

double resume_ms(const bench::Suite&) { return resume(100'000).seconds * 1e3; }
double rss_of_live(const bench::Suite& suite) {
  return resume(suite.scale(100'000, 20'000)).bytes_each;
}

// ---- History

// Processor time of a step without the disk, when its task has made so many before.
double step_cpu(std::size_t steps) {
  Span measured;
  span = &measured;
  Scheduler scheduler;
  run_on(scheduler, with_null_disk(all_types(), "with_checkpoints", static_cast<int>(steps)));
  return measured.ns / kMeasured;
}
double step_cpu_10(const bench::Suite&) { return step_cpu(kMeasured + 10); }
double step_cpu_100k(const bench::Suite&) { return step_cpu(100'000); }

using bench::Weight;
const bench::Row rows[] = {
    {"steps_sequential", "steps/s", Weight::light, sequential},
    {"steps_64", "steps/s", Weight::light, with_64},
    {"steps_512", "steps/s", Weight::light, with_512},
    {"step_p99_64", "us", Weight::light, p99},
    {"sync_latency", "us", Weight::light, median},
    {"tasks_100k", "steps/s", Weight::heavy, many},
    {"recovery_scan", "MB/s", Weight::heavy, scan_speed},
    {"recovery_live", "ms", Weight::heavy, resume_ms},
    {"bytes_per_step", "B", Weight::heavy, bytes},
    {"step_cpu_10", "ns", Weight::heavy, step_cpu_10},
    {"step_cpu_100k", "ns", Weight::heavy, step_cpu_100k},
    {"rss_live_task", "B", Weight::heavy, rss_of_live},
};

}  // namespace

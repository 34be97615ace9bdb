// The store against a model that copies everything: programs of a thousand tasks that snapshot,
// write and merge, in random orders. Every task carries its copies with it and compares as it goes.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "sanitized.hpp"
#include "support/harness.hpp"

namespace tiffany::test {
namespace store_model_test {

constexpr std::size_t kTasks = 1000;
// Merges of merges would grow without end; a task with so many entries gathers no more.
constexpr std::size_t kLongLog = 1000;
constexpr std::uint64_t kKeys = 24;

std::string key_name(std::uint64_t key) {
  // Two names that have the same hash.
  if (key == 0) return "8yn0iYCKYHlIj4-BwPqk";
  if (key == 1) return "GReLUrM4wMqfg9yzV3KQ";
  return "key " + std::to_string(key);
}

struct Copies {
  std::map<std::uint64_t, int> state;
  std::vector<int> log;
};

// A task as the others know it, and what it told, once it has ended.
struct Known {
  Handle<int> handle;
  std::shared_ptr<std::vector<int>> told = std::make_shared<std::vector<int>>();
};

struct Program {
  explicit Program(std::uint64_t seed) : random(seed, "store model") {}
  bool chance(std::uint64_t one_in) { return random.below(one_in) == 0; }

  Random random;
  std::size_t spawned = 0;
  int next_entry = 0;
  std::size_t merges = 0;
  std::size_t failed_merges = 0;
  std::vector<Known> everybody;
};

class Worker {
 public:
  Worker(Program& program, Copies copies)
      : program_(program), copies_(std::move(copies)), inherited_(copies_.log.size()) {}

  Task<void> work(std::size_t steps) {
    for (std::size_t step = 0; step < steps; ++step) {
      switch (program_.random.below(10)) {
        case 0:
        case 1:
          write();
          break;
        case 2:
          tell(std::to_string(program_.next_entry));
          copies_.log.push_back(program_.next_entry++);
          break;
        case 3:
          read();
          break;
        case 4:
        case 5:
        case 6:
          spawn_one();
          break;
        case 7:
          if (!mine_.empty() && program_.chance(4)) pick_mine().handle.cancel("model");
          co_await sleep(Duration(program_.random.below(3)));
          break;
        case 8:
          co_await yield();
          break;
        case 9:
          co_await merge();
          break;
      }
    }
  }
  // What it told, as the model sees it.
  std::vector<int> new_entries() const {
    return {copies_.log.begin() + static_cast<std::ptrdiff_t>(inherited_), copies_.log.end()};
  }
  void compare() const {
    const std::vector<std::string> entries = told();
    ASSERT_EQ(entries.size(), copies_.log.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      ASSERT_EQ(entries[i], std::to_string(copies_.log[i]));
    }
    for (std::uint64_t key = 0; key < kKeys; ++key) compare(key);
  }

 private:
  static Task<int> run(Program& program, Copies copies, std::shared_ptr<std::vector<int>> out) {
    Worker worker(program, std::move(copies));
    co_await worker.work(program.random.below(12));
    worker.compare();
    *out = worker.new_entries();
    if (program.chance(20)) throw std::runtime_error("a failure of the program");
    co_return 1;
  }

  void compare(std::uint64_t key) const {
    const std::string name = key_name(key);
    const int* found = get(StateKey<int>(name));
    const auto copy = copies_.state.find(key);
    ASSERT_EQ(found != nullptr, copy != copies_.state.end());
    if (found != nullptr) {
      ASSERT_EQ(*found, copy->second);
    }
  }
  void read() const { compare(program_.random.below(kKeys)); }
  void write() {
    const std::uint64_t key = program_.random.below(kKeys);
    const std::string name = key_name(key);
    const int value = static_cast<int>(program_.random.below(1000));
    put(StateKey<int>(name), value);
    copies_.state[key] = value;
  }
  void spawn_one() {
    if (program_.spawned == kTasks) return;
    ++program_.spawned;
    Known child;
    child.handle = spawn(run, std::ref(program_), copies_, child.told);
    mine_.push_back(child);
    program_.everybody.push_back(child);
  }
  Known& pick_mine() { return mine_[program_.random.below(mine_.size())]; }

  // Its own tasks, whether they have ended or not, and others that have; some of them twice.
  std::vector<Known> choose() {
    std::vector<Known> chosen;
    for (std::uint64_t count = program_.random.below(6); count > 0; --count) {
      if (!mine_.empty() && !program_.chance(4)) {
        chosen.push_back(pick_mine());
      } else if (!program_.everybody.empty()) {
        const Known& any = program_.everybody[program_.random.below(program_.everybody.size())];
        if (any.handle.done()) chosen.push_back(any);
      }
    }
    return chosen;
  }
  Task<void> merge() {
    if (copies_.log.size() > kLongLog) co_return;
    const std::vector<Known> chosen = choose();
    std::vector<Handle<int>> handles;
    for (const Known& known : chosen) handles.push_back(known.handle);
    if (program_.chance(3)) {
      co_await all_settled(handles);
      append(chosen);
    } else {
      bool good = true;
      try {
        co_await gather(handles);
      } catch (const std::runtime_error&) {
        good = false;
      }
      if (good) append(chosen);
      ++(good ? program_.merges : program_.failed_merges);
    }
  }
  void append(const std::vector<Known>& chosen) {
    for (const Known& known : chosen) {
      if (known.handle.state() == TaskState::cancelled) continue;
      copies_.log.insert(copies_.log.end(), known.told->begin(), known.told->end());
    }
  }

  Program& program_;
  Copies copies_;
  std::size_t inherited_;
  std::vector<Known> mine_;
};

void run_seed(std::uint64_t seed, std::size_t& merges, std::size_t& failed_merges) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Options options = Options().virtual_time();
  if (seed % 4 != 0) options = std::move(options).order(random_order(seed));
  Scheduler scheduler(std::move(options));
  {
    Program program(seed);
    auto root = [&]() -> Task<void> {
      Worker worker(program, Copies());
      while (program.spawned < kTasks) co_await worker.work(100);
      worker.compare();
    };
    auto handle = scheduler.spawn(std::ref(root));
    scheduler.run();
    detail::result_now(handle);
    for (const Known& known : program.everybody) known.handle.waitable().mark_observed();
    merges += program.merges;
    failed_merges += program.failed_merges;
  }
  expect_nothing_left(scheduler);
}

// Five hundred seeds, in shards that run beside each other.
class StoreModel : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(StoreModel, W5_AThousandTasksAgreeWithCopiesOfEverything) {
  std::size_t merges = 0;
  std::size_t failed_merges = 0;
  for (std::uint64_t seed = 0; seed < 50 / kSlower && !HasFailure(); ++seed) {
    run_seed(GetParam() + seed, merges, failed_merges);
  }
  EXPECT_GT(merges, 1000 / kSlower) << "the programs do not do what they are for";
  EXPECT_GT(failed_merges, 100 / kSlower);
}

INSTANTIATE_TEST_SUITE_P(Seeds, StoreModel, ::testing::Range<std::uint64_t>(0, 500, 50));

}  // namespace store_model_test
}  // namespace tiffany::test

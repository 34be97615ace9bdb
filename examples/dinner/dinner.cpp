// Dining philosophers. The naive table seats everybody in the usual order, and locks up in others:
// explore() finds one, the deadlock report explains it, and the repaired table passes every seed.
#include <array>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tiffany/test/explore.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace tiffany::test;

namespace {

// One at a time holds it; the others wait in line. It tells reports who holds it, so that they can
// see a circle.
class Fork {
 public:
  class Take final : public SystemCall {
   public:
    static constexpr CallName call_name{"take_fork"};
    explicit Take(Fork& fork) noexcept : fork_(fork) {}

    Answer start(Scheduler&, TaskRecord& task) {
      if (fork_.holder_ != nullptr) {
        task_ = &task;
        fork_.line_.push_back(this);
        return Answer::parked;
      }
      fork_.holder_ = &task;
      return Answer::now;
    }
    void withdraw(TaskRecord&) noexcept override { std::erase(fork_.line_, this); }
    void finish() noexcept {}
    std::string describe() const override {
      return "the fork that " + fork_.holder_->describe() + " holds";
    }
    void visit_waits(WaitVisitor& visitor) const override { visitor.on_waitable(*fork_.holder_); }

   private:
    friend class Fork;
    Fork& fork_;
    TaskRecord* task_ = nullptr;
  };

  Take take() noexcept { return Take(*this); }
  void put_down() {
    holder_ = nullptr;
    if (line_.empty()) return;
    const Take* const next = line_.front();
    line_.erase(line_.begin());
    holder_ = next->task_;
    next->wake(*holder_);
  }

 private:
  TaskRecord* holder_ = nullptr;
  std::vector<Take*> line_;
};

constexpr std::array kNames = {"Plato", "Hypatia", "Kant", "Arendt", "Hume"};
constexpr std::size_t kSeats = kNames.size();

Task<void> dine(Fork& first, Fork& second, std::size_t thoughts, int& meals) {
  for (std::size_t i = 0; i < thoughts; ++i) co_await yield();
  co_await first.take();
  co_await second.take();
  ++meals;
  second.put_down();
  first.put_down();
}

Task<void> naive_table() {
  std::array<Fork, kSeats> forks;
  int meals = 0;
  std::vector<Handle<void>> guests;
  for (std::size_t i = 0; i < kSeats; ++i) {
    Fork& left = forks[i];
    Fork& right = forks[(i + 1) % kSeats];
    guests.push_back(spawn(dine, std::ref(left), std::ref(right), i, std::ref(meals)));
    guests.back().named(kNames[i]);
  }
  co_await gather(guests);
  check(meals == 5, "somebody did not eat");
}

Task<void> repaired_table() {
  std::array<Fork, kSeats> forks;
  int meals = 0;
  std::vector<Handle<void>> guests;
  for (std::size_t i = 0; i < kSeats; ++i) {
    // Everybody takes the fork with the smaller number first, so the wait cannot go in a circle.
    Fork& low = forks[i + 1 == kSeats ? 0 : i];
    Fork& high = forks[i + 1 == kSeats ? i : i + 1];
    guests.push_back(spawn(dine, std::ref(low), std::ref(high), i, std::ref(meals)));
    guests.back().named(kNames[i]);
  }
  co_await gather(guests);
  check(meals == 5, "somebody did not eat");
}

}  // namespace

int main() {
  std::printf("The naive table, first in first out\n");
  if (run(naive_table(), Options().virtual_time()) != 0) return 1;
  std::printf("Everybody has eaten.\n\n");

  std::printf("The naive table, in up to 1000 orders\n");
  const Exploration naive = explore(naive_table, Seeds(1000));
  if (naive.passed()) return 1;
  std::printf("%s\n", naive.error.c_str());
  std::printf("It takes %zu deviations from first in first out:\n", naive.deviations.size());
  for (const std::string& line : naive.order) std::printf("  %s\n", line.c_str());
  std::printf("To run this order again: TIFFANY_REPLAY=%s\n\n", text_of(naive.deviations).c_str());

  std::printf("The repaired table, in 1000 orders\n");
  const Exploration repaired = explore(repaired_table, Seeds(1000));
  std::printf("%s", repaired.text().c_str());
  return repaired.passed() ? 0 : 1;
}

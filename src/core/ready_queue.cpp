#include "tiffany/core/ready_queue.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <deque>
#include <iterator>
#include <map>
#include <new>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/base/random.hpp"

namespace tiffany {

void ReadyPolicy::chain_grows(TaskRecord&, std::uint64_t) {}

ReadyQueue::~ReadyQueue() {
  for (Ring& ring : rings_) {
    delete[] ring.places;
    delete[] ring.yields;
  }
}

// The rings have room for every task, also where a policy decides.
void ReadyQueue::push_by_policy(TaskRecord& task) noexcept {
  try {
    policy_->push(task);
  } catch (const std::bad_alloc&) {
    push_to_ring(task);
    ++refused_;
  }
}

TaskRecord& ReadyQueue::pop_by_policy() {
  if (refused_ == 0) [[likely]]
    return policy_->pop();
  --refused_;
  Ring& ring = *best();
  return ring.places[ring.head++ & ring.mask].task();
}

void ReadyQueue::grow(Ring& ring) {
  const std::size_t capacity = ring.places == nullptr ? 64 : 2 * (ring.mask + 1);
  auto places = std::make_unique<Place[]>(capacity);
  auto yields = std::make_unique<std::uint32_t[]>(capacity);
  // The positions stay what they are, only their place in the larger ring changes. The task that
  // was taken last may be running.
  for (std::size_t at = ring.head - 1; ring.places != nullptr && at != ring.tail; ++at) {
    places[at & (capacity - 1)] = ring.places[at & ring.mask];
    yields[at & (capacity - 1)] = ring.yields[at & ring.mask];
  }
  delete[] std::exchange(ring.places, places.release());
  delete[] std::exchange(ring.yields, yields.release());
  ring.mask = capacity - 1;
  const auto priority = static_cast<std::size_t>(&ring - rings_);
  used_[priority / 64] |= std::uint64_t{1} << (priority % 64);
}

bool ReadyQueue::find_best() noexcept {
  const auto from = static_cast<std::size_t>(best_ - rings_);
  std::uint64_t used = used_[from / 64] >> (from % 64) << (from % 64);
  for (std::size_t word = from / 64;;) {
    for (; used != 0; used &= used - 1) {
      Ring& ring = rings_[64 * word + static_cast<std::size_t>(std::countr_zero(used))];
      if (!ring.empty()) {
        best_ = &ring;
        return true;
      }
    }
    if (++word == std::size(used_)) return false;
    used = used_[word];
  }
}

ReadyQueue::Ring* ReadyQueue::next_below_best(std::uint8_t& last) noexcept {
  if (empty()) return nullptr;
  const auto best = static_cast<std::size_t>(best_ - rings_);
  const std::size_t count = std::size(rings_);
  for (std::size_t step = 1; step <= count; ++step) {
    const std::size_t priority = (last + step) % count;
    if (priority > best && !rings_[priority].empty()) {
      last = static_cast<std::uint8_t>(priority);
      return &rings_[priority];
    }
  }
  return nullptr;
}

std::size_t ReadyQueue::size() const noexcept {
  if (policy_ != nullptr) return refused_ + policy_->size();
  std::size_t size = 0;
  for (const Ring& ring : rings_) size += ring.size();
  return size;
}

namespace {

class FifoOrder final : public ReadyPolicy {
 public:
  void push(TaskRecord& task) override { tasks_.push_back(&task); }
  TaskRecord& pop() override {
    TaskRecord& task = *tasks_.front();
    tasks_.pop_front();
    return task;
  }
  std::size_t size() const noexcept override { return tasks_.size(); }

 private:
  std::deque<TaskRecord*> tasks_;
};

// What the rings of ReadyQueue do, as a policy: for recording.
class PriorityOrder final : public ReadyPolicy {
 public:
  void push(TaskRecord& task) override {
    by_priority_[task.priority()].push_back(&task);
    ++size_;
  }
  TaskRecord& pop() override {
    auto best = std::find_if(by_priority_.begin(), by_priority_.end(),
                             [](const auto& tasks) { return !tasks.empty(); });
    TaskRecord& task = *best->front();
    best->pop_front();
    --size_;
    return task;
  }
  std::size_t size() const noexcept override { return size_; }

 private:
  std::array<std::deque<TaskRecord*>, 256> by_priority_;
  std::size_t size_ = 0;
};

// The ready tasks of each priority, most urgent first.
class Priorities {
 public:
  using Tasks = std::vector<TaskRecord*>;

  void push(TaskRecord& task) {
    by_priority_[task.priority()].push_back(&task);
    best_ = std::min<std::size_t>(best_, task.priority());
    ++size_;
  }
  // The tasks of the most urgent priority. Only to be called when size() is not zero.
  Tasks& best() {
    while (by_priority_[best_].empty()) ++best_;
    return by_priority_[best_];
  }
  // In constant time; the last task moves into the gap.
  TaskRecord& take(Tasks& from, std::size_t index) {
    std::swap(from[index], from.back());
    TaskRecord& task = *from.back();
    from.pop_back();
    --size_;
    return task;
  }
  std::size_t size() const noexcept { return size_; }

 private:
  std::array<Tasks, 256> by_priority_;
  std::size_t best_ = 0;
  std::size_t size_ = 0;
};

class DepthFirstOrder final : public ReadyPolicy {
 public:
  void push(TaskRecord& task) override { tasks_.push(task); }
  TaskRecord& pop() override {
    auto& best = tasks_.best();
    return tasks_.take(best, best.size() - 1);
  }
  std::size_t size() const noexcept override { return tasks_.size(); }

 private:
  Priorities tasks_;
};

class RandomOrder final : public ReadyPolicy {
 public:
  explicit RandomOrder(std::uint64_t seed) : random_(seed, "ready order") {}
  void push(TaskRecord& task) override { tasks_.push(task); }
  TaskRecord& pop() override {
    auto& best = tasks_.best();
    return tasks_.take(best, random_.below(best.size()));
  }
  std::size_t size() const noexcept override { return tasks_.size(); }

 private:
  Priorities tasks_;
  Random random_;
};

class RecordedOrder final : public ReadyPolicy {
 public:
  explicit RecordedOrder(std::vector<TaskId> picks) : picks_(std::move(picks)) {}
  void push(TaskRecord& task) override {
    const Key key{task.priority(), next_++};
    const auto at = order_.emplace(key, &task).first;
    try {
      queued_.emplace(task.id(), key);
    } catch (...) {
      order_.erase(at);
      throw;
    }
  }
  TaskRecord& pop() override {
    if (at_ == picks_.size()) return take(order_.begin());
    const TaskId wanted = picks_[at_];
    if (const auto found = queued_.find(wanted); found != queued_.end()) {
      ++at_;
      return take(order_.find(found->second));
    }
    // Those who want to go on all the same, such as the end of the scheduler, can: by priority.
    const std::size_t pick = std::exchange(at_, picks_.size());
    throw Error(Errc::diverged, "The recorded order wants task " + wanted.text() + " at pick " +
                                    std::to_string(pick) +
                                    ", but it is not ready; the first that is "
                                    "ready is task " +
                                    order_.begin()->second->id().text() +
                                    ". The program or its inputs differ from the recorded run.");
  }
  std::size_t size() const noexcept override { return order_.size(); }

 private:
  using Key = std::pair<std::uint8_t, std::uint64_t>;  // the priority, and when it was pushed
  using Order = std::map<Key, TaskRecord*>;
  TaskRecord& take(Order::iterator at) {
    TaskRecord& task = *at->second;
    queued_.erase(task.id());
    order_.erase(at);
    return task;
  }

  Order order_;
  std::map<TaskId, Key> queued_;
  std::uint64_t next_ = 0;
  std::vector<TaskId> picks_;
  std::size_t at_ = 0;
};

}  // namespace

RecordingOrder::RecordingOrder(std::unique_ptr<ReadyPolicy> order, std::vector<TaskId>& picks)
    : order_(order != nullptr ? std::move(order) : priority_order()), picks_(picks) {}

TaskRecord& RecordingOrder::pop() {
  // The memory first: a task that was taken and could not be written down would be lost.
  picks_.emplace_back();
  try {
    TaskRecord& task = order_->pop();
    picks_.back() = task.id();
    return task;
  } catch (...) {
    picks_.pop_back();
    throw;
  }
}

std::unique_ptr<ReadyPolicy> priority_order() { return std::make_unique<PriorityOrder>(); }
std::unique_ptr<ReadyPolicy> fifo_order() { return std::make_unique<FifoOrder>(); }
std::unique_ptr<ReadyPolicy> depth_first_order() { return std::make_unique<DepthFirstOrder>(); }
std::unique_ptr<ReadyPolicy> random_order(std::uint64_t seed) {
  return std::make_unique<RandomOrder>(seed);
}
std::unique_ptr<ReadyPolicy> recorded_order(std::vector<TaskId> picks) {
  return std::make_unique<RecordedOrder>(std::move(picks));
}

}  // namespace tiffany

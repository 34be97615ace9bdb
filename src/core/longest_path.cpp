// The order that runs the longest chain of dependants first.
#include <set>
#include <unordered_map>
#include <utility>

#include "tiffany/core/ready_queue.hpp"

namespace tiffany {
namespace {

class LongestPathOrder final : public ReadyPolicy {
 public:
  void push(TaskRecord& task) override {
    const Key key{task.priority(), task.chain_below(), next_++};
    const auto queued = queued_.emplace(&task, key).first;
    try {
      order_.emplace(key, &task);
    } catch (...) {
      queued_.erase(queued);
      throw;
    }
  }
  TaskRecord& pop() override {
    TaskRecord& task = *order_.begin()->second;
    order_.erase(order_.begin());
    queued_.erase(&task);
    return task;
  }
  std::size_t size() const noexcept override { return order_.size(); }

  bool wants_chains() const noexcept override { return true; }
  void chain_grows(TaskRecord& task, std::uint64_t chain) override {
    const auto queued = queued_.find(&task);
    if (queued == queued_.end()) return;
    auto place = order_.extract({queued->second, &task});
    place.value().first.chain = queued->second.chain = chain;
    order_.insert(std::move(place));
  }

 private:
  struct Key {
    std::uint8_t priority;
    std::uint64_t chain;
    std::uint64_t arrival;  // unique, so that no address is ever compared
    friend bool operator<(const Key& a, const Key& b) noexcept {
      if (a.priority != b.priority) return a.priority < b.priority;
      if (a.chain != b.chain) return a.chain > b.chain;
      return a.arrival < b.arrival;
    }
  };
  struct ByKey {
    bool operator()(const std::pair<Key, TaskRecord*>& a,
                    const std::pair<Key, TaskRecord*>& b) const noexcept {
      return a.first < b.first;
    }
  };

  std::set<std::pair<Key, TaskRecord*>, ByKey> order_;
  std::unordered_map<const TaskRecord*, Key> queued_;  // only looked up, never walked
  std::uint64_t next_ = 0;
};

}  // namespace

std::unique_ptr<ReadyPolicy> longest_path_order() { return std::make_unique<LongestPathOrder>(); }

}  // namespace tiffany

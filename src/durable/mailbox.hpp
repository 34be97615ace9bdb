// The signals that have come to a durable task and that its code has not taken. Every operation
// takes the same time however many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace tiffany::detail {

class SignalBox {
 public:
  // A name and a value, as JSON.
  using Signal = std::pair<std::string, std::string>;

  void put(std::string name, std::string value, std::uint64_t order = 0) {
    Names::iterator queue = names_.try_emplace(name).first;
    Signals::iterator added = all_.insert(
        all_.end(), Waiting{Signal(std::move(name), std::move(value)), all_.end(), order});
    if (queue->second.count++ == 0) {
      queue->second.first = added;
    } else {
      queue->second.last->next = added;
    }
    queue->second.last = added;
  }
  bool has(const std::string& name) const noexcept { return names_.contains(name); }
  // One that was taken comes back, before those of its name that came after it.
  void put_back(std::string name, std::string value, std::uint64_t order) {
    const Names::iterator queue = names_.try_emplace(name).first;
    Signals::iterator after = queue->second.count == 0 ? all_.end() : queue->second.first;
    Signals::iterator before = all_.end();
    while (after != all_.end() && after->order < order) {
      before = after;
      after = after->next;
    }
    const Signals::iterator added =
        all_.insert(all_.begin(), Waiting{Signal(std::move(name), std::move(value)), after, order});
    if (before != all_.end()) {
      before->next = added;
      all_.splice(std::next(before), all_, added);
    } else {
      queue->second.first = added;
    }
    if (after == all_.end()) queue->second.last = added;
    ++queue->second.count;
  }
  // The oldest of that name, of which there must be one. `order`: its own, for put_back.
  std::string take(const std::string& name, std::uint64_t* order = nullptr) {
    const Names::iterator queue = names_.find(name);
    const Signals::iterator first = queue->second.first;
    std::string value = std::move(first->signal.second);
    if (order != nullptr) *order = first->order;
    queue->second.first = first->next;
    if (--queue->second.count == 0) names_.erase(queue);
    all_.erase(first);
    return value;
  }
  std::size_t size() const noexcept { return all_.size(); }
  void clear() noexcept {
    names_.clear();
    all_.clear();
  }

 private:
  struct Waiting;
  using Signals = std::list<Waiting>;
  struct Waiting {
    Signal signal;
    Signals::iterator next;  // of the same name; the end for the last
    std::uint64_t order;     // older ones have smaller numbers
  };
  struct Queue {
    Signals::iterator first{};
    Signals::iterator last{};
    std::size_t count = 0;
  };
  using Names = std::unordered_map<std::string, Queue>;

 public:
  // In the order in which they came.
  class Iterator {
   public:
    explicit Iterator(Signals::const_iterator at) noexcept : at_(at) {}
    const Signal& operator*() const noexcept { return at_->signal; }
    Iterator& operator++() noexcept {
      ++at_;
      return *this;
    }
    bool operator!=(const Iterator& other) const noexcept { return at_ != other.at_; }

   private:
    Signals::const_iterator at_;
  };
  Iterator begin() const noexcept { return Iterator(all_.begin()); }
  Iterator end() const noexcept { return Iterator(all_.end()); }

 private:
  Signals all_;
  Names names_;
};

}  // namespace tiffany::detail

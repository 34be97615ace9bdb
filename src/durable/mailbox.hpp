// The signals that have come to a durable task and that its code has not taken. Every operation
// takes the same time however many there are, but for put_back, which passes those of its name that
// came before.
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
  bool has(const std::string& name) const noexcept {
    const auto queue = names_.find(name);
    return queue != names_.end() && queue->second.count > 0;
  }

 private:
  struct Waiting;
  using Signals = std::list<Waiting>;

 public:
  // Room for one signal of a name: putting that back needs no memory, and cannot fail.
  class Place {
   private:
    friend SignalBox;
    Signals node_;  // one, or none when the place was used or given up
  };
  Place reserve(const std::string& name) {
    Place made;
    made.node_.push_back(Waiting{Signal(name, std::string()), all_.end(), 0});
    ++names_.try_emplace(name).first->second.places;
    return made;
  }
  // The place is not needed.
  void release(Place& place) noexcept {
    if (place.node_.empty()) return;
    const Names::iterator queue = names_.find(place.node_.front().signal.first);
    place.node_.clear();
    --queue->second.places;
    if (queue->second.empty()) names_.erase(queue);
  }
  // One that was taken comes back, before those of its name that came after it.
  void put_back(Place& place, std::string value, std::uint64_t order) noexcept {
    const Signals::iterator added = place.node_.begin();
    Queue& queue = names_.find(added->signal.first)->second;
    Signals::iterator after = queue.count == 0 ? all_.end() : queue.first;
    Signals::iterator before = all_.end();
    while (after != all_.end() && after->order < order) {
      before = after;
      after = after->next;
    }
    added->signal.second = std::move(value);
    added->next = after;
    added->order = order;
    all_.splice(before != all_.end() ? std::next(before) : all_.begin(), place.node_);
    if (before != all_.end()) {
      before->next = added;
    } else {
      queue.first = added;
    }
    if (after == all_.end()) queue.last = added;
    ++queue.count;
    --queue.places;
  }
  // The oldest of that name, of which there must be one. `order`: its own, for put_back.
  std::string take(const std::string& name, std::uint64_t* order = nullptr) {
    const Names::iterator queue = names_.find(name);
    const Signals::iterator first = queue->second.first;
    std::string value = std::move(first->signal.second);
    if (order != nullptr) *order = first->order;
    queue->second.first = first->next;
    --queue->second.count;
    if (queue->second.empty()) names_.erase(queue);
    all_.erase(first);
    return value;
  }
  std::size_t size() const noexcept { return all_.size(); }
  void clear() noexcept {
    names_.clear();
    all_.clear();
  }

 private:
  struct Waiting {
    Signal signal;
    Signals::iterator next;  // of the same name; the end for the last
    std::uint64_t order;     // older ones have smaller numbers
  };
  struct Queue {
    Signals::iterator first{};
    Signals::iterator last{};
    std::size_t count = 0;
    std::size_t places = 0;  // that are reserved
    bool empty() const noexcept { return count == 0 && places == 0; }
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

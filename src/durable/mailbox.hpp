// The signals that have come to a durable task and that its code has not taken. Every operation
// takes the same time however many there are.
#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <unordered_map>
#include <utility>

namespace tiffany::detail {

class SignalBox {
 public:
  // A name and a value, as JSON.
  using Signal = std::pair<std::string, std::string>;

  void put(std::string name, std::string value) {
    Names::iterator queue = names_.try_emplace(name).first;
    Signals::iterator added =
        all_.insert(all_.end(), Waiting{Signal(std::move(name), std::move(value)), all_.end()});
    if (queue->second.count++ == 0) {
      queue->second.first = added;
    } else {
      queue->second.last->next = added;
    }
    queue->second.last = added;
  }
  bool has(const std::string& name) const noexcept { return names_.contains(name); }
  // The oldest of that name, of which there must be one.
  std::string take(const std::string& name) {
    const Names::iterator queue = names_.find(name);
    const Signals::iterator first = queue->second.first;
    std::string value = std::move(first->signal.second);
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

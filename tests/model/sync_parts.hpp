// The reference model: the primitives of module sync.
//
// Whoever cannot have what it asks for stands in a line, and whoever gives back hands over to the
// first in the line, who has it from then on.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/parts.hpp"

namespace model::reference {

using Line = std::deque<Ask*>;

class Primitive {
 public:
  // Told that what was asked for has come. The ask is in no line of this primitive then.
  using Tell = std::function<void(Ask&)>;

  explicit Primitive(Tell tell) : tell_(std::move(tell)) {}
  virtual ~Primitive() = default;

  // True: there is no wait, because it was given, or because `error` says why it never will be.
  virtual bool answer(Ask& ask) = 0;
  virtual void enlist(Ask& ask) { line_.push_back(&ask); }
  virtual void leave(Ask& ask) { std::erase(line_, &ask); }
  // Somebody has left the line: those behind may have waited for nothing else.
  virtual void pass_on() {}

 protected:
  void tell_first(Line& line) {
    Ask& first = *line.front();
    line.pop_front();
    tell_(first);
  }
  void tell_all(Line& line) {
    while (!line.empty()) tell_first(line);
  }

  Line line_;

 private:
  Tell tell_;
};

// Mutex, shared mutex and semaphore: so many, given in the order they were asked for. A mutex has
// one; a shared mutex has very many, of which a writer needs all.
class Pool final : public Primitive {
 public:
  static constexpr std::size_t kManyReaders = 1'000'000;

  Pool(Tell tell, std::size_t all, bool refuses_holders)
      : Primitive(std::move(tell)), all_(all), free_(all), refuses_holders_(refuses_holders) {}

  bool answer(Ask& ask) override {
    if (line_.empty() && ask.count <= free_) {
      give(ask);
      return true;
    }
    const bool holds = std::count(holders_.begin(), holders_.end(), ask.task) > 0;
    if (refuses_holders_ && holds) ask.error = "Error 161";
    return !ask.error.empty();
  }
  void give_back(const Held& held) {
    free_ += held.count;
    holders_.erase(std::find(holders_.begin(), holders_.end(), held.owner));
    pass_on();
  }
  void pass_on() override {
    while (!line_.empty() && line_.front()->count <= free_) {
      give(*line_.front());
      tell_first(line_);
    }
  }

  std::size_t all() const { return all_; }
  std::size_t free() const { return free_; }
  // In the order it was given to them.
  const std::vector<const Task*>& holders() const { return holders_; }

 private:
  void give(Ask& ask) {
    free_ -= ask.count;
    holders_.push_back(ask.task);
    ask.held = Held{this, ask.task, ask.count};
  }

  std::size_t all_;
  std::size_t free_;
  bool refuses_holders_;
  std::vector<const Task*> holders_;
};

class Event final : public Primitive {
 public:
  using Primitive::Primitive;

  bool answer(Ask&) override { return is_set; }
  void set() {
    is_set = true;
    tell_all(line_);
  }

  bool is_set = false;
};

class Latch final : public Primitive {
 public:
  Latch(Tell tell, std::size_t count) : Primitive(std::move(tell)), left(count) {}

  bool answer(Ask&) override { return left == 0; }
  void count_down(std::size_t by) {
    left -= by;
    if (left == 0) tell_all(line_);
  }

  std::size_t left;
};

class Barrier final : public Primitive {
 public:
  Barrier(Tell tell, std::size_t count) : Primitive(std::move(tell)), parties(count) {}

  bool answer(Ask& ask) override {
    ask.last = line_.size() + 1 >= parties;
    if (ask.last) open();
    return ask.last;
  }
  void drop() {
    --parties;
    if (!line_.empty() && line_.size() >= parties) open();
  }
  std::size_t waiting() const { return line_.size(); }

  std::size_t parties;
  std::uint64_t rounds = 0;

 private:
  void open() {
    ++rounds;
    tell_all(line_);
  }
};

class Condition final : public Primitive {
 public:
  using Primitive::Primitive;

  bool answer(Ask&) override { return false; }
  void notify_one() {
    if (!line_.empty()) tell_first(line_);
  }
  void notify_all() { tell_all(line_); }
};

class Channel final : public Primitive {
 public:
  Channel(Tell tell, std::size_t capacity) : Primitive(std::move(tell)), capacity_(capacity) {}

  bool answer(Ask& ask) override {
    if (ask.what.use != Use::send) {
      ask.value = take();
      return ask.value || closed_;
    }
    if (closed_) ask.error = "Error 160";
    return closed_ || put(ask.what.number);
  }
  void enlist(Ask& ask) override {
    (ask.what.use == Use::send ? senders_ : receivers_).push_back(&ask);
  }
  void leave(Ask& ask) override {
    std::erase(senders_, &ask);
    std::erase(receivers_, &ask);
  }

  // False: no room.
  bool put(int value) {
    if (!receivers_.empty()) {
      receivers_.front()->value = value;
      tell_first(receivers_);
      return true;
    }
    if (values_.size() >= capacity_) return false;
    values_.push_back(value);
    return true;
  }
  // The oldest value, if there is one.
  std::optional<int> take() {
    if (!senders_.empty()) {
      values_.push_back(senders_.front()->what.number);
      tell_first(senders_);
    }
    if (values_.empty()) return std::nullopt;
    const int value = values_.front();
    values_.pop_front();
    return value;
  }
  void close() {
    closed_ = true;
    for (Ask* sender : senders_) sender->error = "Error 160";
    tell_all(senders_);
    tell_all(receivers_);
  }
  bool closed() const { return closed_; }
  std::size_t size() const { return values_.size(); }

 private:
  std::size_t capacity_;
  bool closed_ = false;
  std::deque<int> values_;
  Line senders_;
  Line receivers_;
};

}  // namespace model::reference

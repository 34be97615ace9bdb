// What a task has of a primitive until it gives it back: a lock, some permits.
//
// A hold is in a list of its primitive from the moment it is granted, which may be before the task
// that asked for it goes on. It gives itself back when it is destroyed, wherever it is then: in a
// guard, or in the system call of a task that was dropped before it could see its result. A
// primitive that is destroyed first leaves its holds empty. The list also tells reports who holds
// what.
#pragma once

#include <cstddef>
#include <source_location>
#include <string>
#include <utility>

#include "tiffany/base/intrusive_list.hpp"
#include "tiffany/core/id.hpp"

namespace tiffany {

class Scheduler;
class TaskRecord;
class WaitVisitor;

namespace detail {

struct HoldNode {
  HoldNode* next = nullptr;
  HoldNode* prev = nullptr;
  TaskId task;  // none: taken outside of any task
  std::source_location site;
  std::size_t count = 0;
};

// The holds of one primitive, in the order they were granted.
class HoldList {
 public:
  HoldList() noexcept = default;
  HoldList(const HoldList&) = delete;
  HoldList& operator=(const HoldList&) = delete;

  bool empty() const noexcept { return nodes_.empty(); }
  HoldNode* first() const noexcept { return nodes_.first(); }
  // Null when this task has none.
  const HoldNode* find(TaskId task) const noexcept;

  // Not inline: GCC 12 takes the address of a guard for one that stays behind.
  [[gnu::noinline]] void add(HoldNode& node) noexcept;
  void remove(HoldNode& node) noexcept { nodes_.remove(node); }
  // `to` takes the place of `from`.
  void move(HoldNode& from, HoldNode& to) noexcept;

  // ` held by task #3 "writer" (main.cpp:40)`; nothing when nobody has it.
  std::string describe(const Scheduler& scheduler) const;
  void visit(const Scheduler& scheduler, WaitVisitor& visitor) const;

 private:
  IntrusiveList<HoldNode> nodes_;
};

// `P` has a member `holders_`, and a function `released` that is told what came back.
template <class P>
class Hold : private HoldNode {
 public:
  Hold() noexcept = default;
  Hold(Hold&& other) noexcept { take(other); }
  Hold& operator=(Hold&& other) noexcept {
    if (this != &other) {
      give_back();
      take(other);
    }
    return *this;
  }
  ~Hold() { give_back(); }

  explicit operator bool() const noexcept { return primitive_ != nullptr; }
  P* primitive() const noexcept { return primitive_; }
  std::size_t count() const noexcept { return primitive_ != nullptr ? HoldNode::count : 0; }

  void begin(P& primitive, TaskId owner, const std::source_location& where,
             std::size_t much = 1) noexcept {
    primitive_ = &primitive;
    task = owner;
    site = where;
    HoldNode::count = much;
    primitive.holders_.add(*this);
  }
  void give_back() noexcept {
    if (P* primitive = std::exchange(primitive_, nullptr)) {
      primitive->holders_.remove(*this);
      primitive->released(HoldNode::count);
    }
  }
  // The primitive is being destroyed.
  static void empty_all(HoldList& holders) noexcept {
    while (HoldNode* node = holders.first()) {
      static_cast<Hold*>(node)->primitive_ = nullptr;
      holders.remove(*node);
    }
  }

 private:
  void take(Hold& other) noexcept {
    primitive_ = std::exchange(other.primitive_, nullptr);
    if (primitive_ != nullptr) primitive_->holders_.move(other, *this);
  }

  P* primitive_ = nullptr;
};

// The task that is running on this thread; none outside of any.
TaskId running_task() noexcept;

// `what` is asked for at `site` by a task that has it already and would wait for itself.
[[noreturn]] void throw_relock(const char* what, const HoldNode& held, const TaskRecord& task,
                               const std::source_location& site);
[[noreturn]] void throw_holds_nothing(const char* what);

}  // namespace detail
}  // namespace tiffany

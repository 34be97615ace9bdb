// Who waits, in the order they came.
//
// A waiter lives inside the system call that waits, so waiting allocates nothing; a call that waits
// for several things has one for each. When what it waits for has come, the waiter is taken out of
// its list and the call that its task is parked on is told, through SystemCall::on_settled.
#pragma once

namespace tiffany {

class TaskRecord;

struct Waiter {
  Waiter* next = nullptr;
  Waiter* prev = nullptr;
  TaskRecord* task = nullptr;  // parked on the call that registered this

  bool linked() const noexcept { return next != nullptr; }
};

// First in, first out; a waiter in the middle leaves in constant time.
class WaiterList {
 public:
  WaiterList() noexcept = default;
  WaiterList(const WaiterList&) = delete;
  WaiterList& operator=(const WaiterList&) = delete;

  bool empty() const noexcept { return first_ == nullptr; }
  // Null when nobody waits.
  Waiter* front() const noexcept { return first_; }

  void push(Waiter& waiter, TaskRecord& task) noexcept {
    waiter.task = &task;
    if (first_ == nullptr) {
      waiter.next = waiter.prev = &waiter;
      first_ = &waiter;
      return;
    }
    waiter.next = first_;
    waiter.prev = first_->prev;
    waiter.prev->next = &waiter;
    first_->prev = &waiter;
  }
  // Does nothing to one that is in no list.
  void remove(Waiter& waiter) noexcept {
    if (!waiter.linked()) return;
    if (waiter.next == &waiter) {
      first_ = nullptr;
    } else {
      waiter.prev->next = waiter.next;
      waiter.next->prev = waiter.prev;
      if (first_ == &waiter) first_ = waiter.next;
    }
    waiter.next = waiter.prev = nullptr;
  }
  // Takes out the first; null when nobody waits.
  Waiter* pop() noexcept {
    Waiter* const waiter = first_;
    if (waiter != nullptr) remove(*waiter);
    return waiter;
  }

 private:
  Waiter* first_ = nullptr;  // circular; its prev is the last one
};

}  // namespace tiffany

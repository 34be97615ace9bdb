// A doubly linked list through members of its elements: pushing and removing allocate nothing and
// take constant time, wherever the element is.
//
//   struct Job {
//     Job* next = nullptr;
//     Job* prev = nullptr;
//   };
//   IntrusiveList<Job> jobs;
//   jobs.push(job);
//
// The list owns nothing. An element is in one list at a time, and is removed before it is
// destroyed. For a list of those who wait see core/waiter.hpp, which needs one word less.
//
// Thread safety: none.
#pragma once

#include <utility>

#include "tiffany/base/assert.hpp"

namespace tiffany {

template <class T>
class IntrusiveList {
 public:
  IntrusiveList() noexcept = default;
  IntrusiveList(IntrusiveList&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  IntrusiveList& operator=(IntrusiveList&& other) noexcept {
    first_ = std::exchange(other.first_, nullptr);
    last_ = std::exchange(other.last_, nullptr);
    return *this;
  }

  bool empty() const noexcept { return first_ == nullptr; }
  // Null when the list is empty. The next one is `element->next`.
  T* first() const noexcept { return first_; }

  void push(T& element) noexcept {
    element.next = nullptr;
    element.prev = last_;
    (last_ != nullptr ? last_->next : first_) = &element;
    last_ = &element;
  }
  void push_front(T& element) noexcept {
    element.next = first_;
    element.prev = nullptr;
    (first_ != nullptr ? first_->prev : last_) = &element;
    first_ = &element;
  }
  // The element must be in this list.
  void remove(T& element) noexcept {
    TIFFANY_ASSERT((element.prev != nullptr ? element.prev->next : first_) == &element,
                   "an element is removed from a list that it is not in");
    (element.prev != nullptr ? element.prev->next : first_) = element.next;
    (element.next != nullptr ? element.next->prev : last_) = element.prev;
    element.next = element.prev = nullptr;
  }
  // Takes out the first; null when the list is empty.
  T* pop() noexcept {
    T* const element = first_;
    if (element != nullptr) remove(*element);
    return element;
  }
  // `to`, which is in no list, takes the place of `from`.
  void replace(T& from, T& to) noexcept {
    to.next = from.next;
    to.prev = from.prev;
    (to.prev != nullptr ? to.prev->next : first_) = &to;
    (to.next != nullptr ? to.next->prev : last_) = &to;
    from.next = from.prev = nullptr;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace tiffany

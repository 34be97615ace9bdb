// Something that has to be closed before the tasks of its scheduler are shut down: a host of
// durable tasks, whose log needs tasks to write. observe/shutdown.hpp closes it.
//
// Thread safety: none; it belongs to the thread of its scheduler.
#pragma once

#include <utility>

#include "tiffany/base/intrusive_list.hpp"
#include "tiffany/core/handle.hpp"

namespace tiffany {

class CloseFirst {
 public:
  CloseFirst() noexcept = default;
  CloseFirst(const CloseFirst&) = delete;
  CloseFirst& operator=(const CloseFirst&) = delete;

  // Spawns the task that closes it. May be called when that is done or under way.
  virtual Handle<void> begin_close() = 0;
  void opened(IntrusiveList<CloseFirst>& all) noexcept {
    closed();
    all.push(*this);
    in_ = &all;
  }
  // It is closed, or gone: nothing is to be done.
  void closed() noexcept {
    if (in_ != nullptr) std::exchange(in_, nullptr)->remove(*this);
  }
  void scheduler_gone() noexcept { in_ = nullptr; }

  CloseFirst* next = nullptr;
  CloseFirst* prev = nullptr;

 protected:
  ~CloseFirst() { closed(); }

 private:
  IntrusiveList<CloseFirst>* in_ = nullptr;  // null: it is not open, or its scheduler is gone
};

}  // namespace tiffany

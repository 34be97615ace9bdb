// What a task says of a child that it spawns besides its arguments:
//
//   auto mail = co_await flow.spawn<void>(ChildOptions().at_end(ParentEnd::abandon), "mail", text);
//
// It is in the first record of the child, so that it is the same after a crash.
#pragma once

#include <cstdint>
#include <utility>

namespace tiffany {

// What becomes of a child that has not ended when its parent ends: returns, fails, is cancelled or
// killed.
enum class ParentEnd : std::uint8_t {
  cancel,          // it is cancelled, and its end is awaited before the parent's is recorded
  request_cancel,  // it is cancelled, which is on the disk then; its end is not awaited
  abandon,         // it goes on
};

class ChildOptions {
 public:
  ChildOptions() = default;
  ChildOptions&& at_end(ParentEnd what) && {
    at_end_ = what;
    return std::move(*this);
  }
  ParentEnd at_end() const noexcept { return at_end_; }

 private:
  ParentEnd at_end_ = ParentEnd::cancel;
};

}  // namespace tiffany

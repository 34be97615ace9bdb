// The scopes of a durable task that are open and have a limit: Flow::scope.
#pragma once

#include "durable/rare.hpp"
#include "durable/slot.hpp"

namespace tiffany::detail {

class TimedScopes {
 public:
  // `shields`: that are open around the scope.
  void open(const Slot& timer, int shields) { all_.push_back({&timer, shields}); }
  void close(const Slot& timer) noexcept {
    all_.erase_if([&timer](const Open& each) { return each.timer == &timer; });
  }
  bool any() const noexcept { return !all_.empty(); }
  // The timer of the outermost whose time is over, and that no shield inside of it holds back.
  const Slot* due(int shields) const noexcept {
    for (const Open& each : all_) {
      if (each.timer->arrived && each.shields == shields) return each.timer;
    }
    return nullptr;
  }

 private:
  struct Open {
    const Slot* timer;
    int shields;
  };
  RareList<Open> all_;
};

}  // namespace tiffany::detail

// Who asks something of a durable task from outside, and why. Both are part of the record of what
// was asked, so that the log tells who paused, resumed, cancelled or started a task.
//
//   co_await host.pause(task, Actor("ann", "the bank is down"));
//
// `by` has at most 200 bytes, `why` as many as a reason has (durable/limits.hpp), and both are
// UTF-8: Errc::bad_argument otherwise. An empty one is not recorded. The names are not checked: a
// program that lets others in (a daemon) says here whom it has found them to be.
#pragma once

#include <string>
#include <utility>

namespace tiffany {

class Actor {
 public:
  Actor() = default;
  explicit Actor(std::string who, std::string reason = std::string())
      : by(std::move(who)), why(std::move(reason)) {}
  std::string by{};
  std::string why{};
};

}  // namespace tiffany

// What a host has to do at a time of the log although no code of a task waits for it: cancel a task
// whose time is over, wake one whose code is not in memory.
//
// One task of the scheduler waits for the earliest of them, and is there only while there are any.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "durable/hosted_task.hpp"

namespace tiffany {

class Alarms {
 public:
  explicit Alarms(HostCore& host) noexcept : host_(host) {}
  // The time of a task is over then (StartOptions::timeout). Once for a task.
  void set_timeout(HostedTask& entry);
  // The first timer of a task whose code is not in memory is due then. Without one the host keeps
  // the scheduler waiting for those outside, as the code of the task would.
  void set_wake(HostedTask& entry);
  void clear_wake(HostedTask& entry) noexcept;
  // A rate lets another task run then.
  void set_turn(std::int64_t due);
  // The task has ended.
  void clear(HostedTask& entry) noexcept;
  // The host goes.
  void stop() noexcept;

 private:
  static constexpr std::uint64_t kOver =
      ~std::uint64_t{0};  // an alarm that was, and is not set again
  class Wait;
  struct Over;
  // By time, and in the order in which they were set.
  using Key = std::pair<std::int64_t, std::uint64_t>;
  struct Alarm {
    Uuid task;
    enum class Kind : std::uint8_t { timeout, wake, turn } kind;
  };
  void remove(std::int64_t due, std::uint64_t& alarm) noexcept;
  bool needed() const noexcept;
  void ring();
  void changed();
  Task<void> run();
  Task<void> cancel(Uuid task, std::string why);

  HostCore& host_;
  std::map<Key, Alarm> all_;
  std::uint64_t last_ = 0;
  std::int64_t turn_ = 0;  // when the earliest turn is; zero: none
  Wait* wait_ = nullptr;   // in which `run` is parked
  bool running_ = false;
  bool stopped_ = false;  // nothing is set any more
  Handle<void> runner_;
};

}  // namespace tiffany

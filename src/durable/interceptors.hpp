// The interceptors of a host, told in their order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "tiffany/durable/interceptor.hpp"

namespace tiffany {

class HostCore;
struct HostedTask;

namespace detail {
struct StepSlot;
}

class Interceptors {
 public:
  explicit Interceptors(HostCore& host) noexcept : host_(host) {}
  bool any() const noexcept;

  // Throw Errc::call_refused.
  void start(StartCall& call) const;
  void signal(const HostedTask& task, std::string_view name, std::string_view value) const;
  void update(const HostedTask& task, std::string_view name, std::string_view request,
              std::string_view id) const;
  void ended(const HostedTask& task) const;

 private:
  friend class InterceptedAttempt;
  HostCore& host_;
};

// One attempt at a step, from its beginning to its end, which is the end of this object at the
// latest. Costs one look where there are no interceptors.
class InterceptedAttempt {
 public:
  InterceptedAttempt(const detail::StepSlot& step, int attempt);
  ~InterceptedAttempt();
  InterceptedAttempt(const InterceptedAttempt&) = delete;
  InterceptedAttempt& operator=(const InterceptedAttempt&) = delete;

  // Throws what an interceptor does.
  void begin() {
    if (any_) begin_all();
  }
  // Tells those that were told of the beginning.
  void end(const std::exception_ptr& failure) noexcept {
    if (told_ > 0) end_all(failure);
  }

 private:
  void begin_all();
  void end_all(const std::exception_ptr& failure) noexcept;
  StepCall call() const;

  const detail::StepSlot& step_;
  const int attempt_;
  const bool any_;
  std::size_t told_ = 0;
  std::int64_t began_ = 0;
  std::string key_;
};

}  // namespace tiffany

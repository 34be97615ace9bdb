// What a durable task brings about outside of its log. A host that runs its tasks has LiveEffects;
// inspection (inspect.cpp) has one that only notes what would happen.
#pragma once

#include <string>

#include "durable/arrivals.hpp"
#include "durable/slot.hpp"
#include "tiffany/durable/host.hpp"

namespace tiffany {

struct HostedTask;

class FlowEffects {
 public:
  virtual ~FlowEffects();

  // ---- Commands whose result the log does not have ----
  virtual void begin_step(detail::StepSlot& step) = 0;   // the log does not have the step, either
  virtual void resume_step(detail::StepSlot& step) = 0;  // the process before may have begun it
  virtual void arm_timer(detail::TimerSlot& timer) = 0;
  virtual void await_promise(detail::PromiseSlot& promise) = 0;
  virtual void start_child(detail::ChildSlot& child) = 0;
  // False: no checkpoint is made, and the code waits for it for ever.
  virtual bool make_checkpoint() = 0;

  // ---- How far the code has come ----
  virtual void delivered(const FlowState& flow, const detail::Arrival& arrival) = 0;
  // The code has made every command of the log.
  virtual void caught_up(const FlowState& flow) = 0;
  virtual void diverged(const FlowState& flow, const std::string& why) = 0;
  // The code has returned. False: its end is not recorded.
  virtual bool ended(const HostedTask& task, DurableStatus status, const std::string& result) = 0;

 protected:
  FlowEffects() = default;
};

class LiveEffects final : public FlowEffects {
 public:
  explicit LiveEffects(HostCore& host) noexcept : host_(host) {}
  void begin_step(detail::StepSlot& step) override;
  void resume_step(detail::StepSlot& step) override;
  void arm_timer(detail::TimerSlot& timer) override;
  void await_promise(detail::PromiseSlot& promise) override;
  void start_child(detail::ChildSlot& child) override;
  bool make_checkpoint() override { return true; }
  void delivered(const FlowState&, const detail::Arrival&) override {}
  void caught_up(const FlowState&) override {}
  void diverged(const FlowState& flow, const std::string& why) override;
  bool ended(const HostedTask&, DurableStatus, const std::string&) override { return true; }

 private:
  HostCore& host_;
};

}  // namespace tiffany

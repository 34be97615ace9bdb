#include "durable/interceptors.hpp"

#include <utility>

#include "base/thrown.hpp"
#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"

namespace tiffany {
namespace {

// Throws what is being thrown as a refusal of the call.
[[noreturn]] void refuse_call() {
  throw Error(Errc::call_refused, caught_sentence("An interceptor refused the call, and threw "
                                                  "something that is no std::exception."));
}

}  // namespace

Interceptor::~Interceptor() = default;
void Interceptor::on_start(StartCall&) {}
void Interceptor::on_signal(const SignalCall&) {}
void Interceptor::on_update(const UpdateCall&) {}
void Interceptor::step_begins(const StepCall&) {}
void Interceptor::step_ended(const StepCall&, const std::exception_ptr&) noexcept {}
void Interceptor::task_ended(const TaskCall&, DurableStatus, std::string_view) noexcept {}

bool Interceptors::any() const noexcept { return !host_.options.interceptors.empty(); }

void Interceptors::start(StartCall& call) const {
  for (const auto& each : host_.options.interceptors) {
    try {
      each->on_start(call);
    } catch (...) {
      refuse_call();
    }
  }
}

void Interceptors::signal(const HostedTask& task, std::string_view name,
                          std::string_view value) const {
  if (!any()) return;
  const SignalCall call{task.log.id, task.type_name(), name, value};
  for (const auto& each : host_.options.interceptors) {
    try {
      each->on_signal(call);
    } catch (...) {
      refuse_call();
    }
  }
}

void Interceptors::update(const HostedTask& task, std::string_view name, std::string_view request,
                          std::string_view id) const {
  if (!any()) return;
  const UpdateCall call{task.log.id, task.type_name(), name, request, id};
  for (const auto& each : host_.options.interceptors) {
    try {
      each->on_update(call);
    } catch (...) {
      refuse_call();
    }
  }
}

void Interceptors::ended(const HostedTask& task) const {
  if (!any()) return;
  const TaskCall call{task.log.id, task.parent, task.type_name(), task.began,
                      host_.store->clock().now()};
  for (const auto& each : host_.options.interceptors) {
    each->task_ended(call, task.status, task.detail.string());
  }
}

InterceptedAttempt::InterceptedAttempt(const detail::StepSlot& step, int attempt)
    : step_(step), attempt_(attempt), any_(step.flow.host.interceptors.any()) {}

// Left without an end: the task or the host was stopped.
InterceptedAttempt::~InterceptedAttempt() {
  if (told_ == 0) return;
  end_all(std::make_exception_ptr(
      Error(Errc::step_failed, "Step \"" + step_.id + "\" was stopped before its end.")));
}

StepCall InterceptedAttempt::call() const {
  const FlowState& flow = step_.flow;
  return {flow.log.id, flow.type.name, step_.id, key_, attempt_, began_, 0};
}

void InterceptedAttempt::begin_all() {
  HostCore& host = step_.flow.host;
  key_ = step_.key();
  began_ = host.store->clock().now();
  const StepCall told = call();
  try {
    for (const auto& each : host.options.interceptors) {
      each->step_begins(told);
      ++told_;
    }
  } catch (...) {
    end(std::current_exception());
    throw;
  }
}

void InterceptedAttempt::end_all(const std::exception_ptr& failure) noexcept {
  HostCore& host = step_.flow.host;
  StepCall told = call();
  told.ended = host.store->clock().now();
  const std::size_t count = std::exchange(told_, 0);
  for (std::size_t i = 0; i < count; ++i) {
    host.options.interceptors[i]->step_ended(told, failure);
  }
}

}  // namespace tiffany

#include "tiffany/durable/span_interceptor.hpp"

#include <utility>

#include "base/thrown.hpp"
#include "tiffany/base/hash.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/durable/host_options.hpp"

namespace tiffany {
namespace {

// Never zero, which names no span.
std::uint64_t span_number(std::uint64_t from, std::uint64_t index) noexcept {
  const std::uint64_t number = mix(from, index);
  return number != 0 ? number : 1;
}

std::string text_json(std::string_view text) {
  std::string out;
  JsonWriter(out).value(text);
  return out;
}

TaskId task_that_runs() noexcept {
  const Scheduler* const scheduler = Scheduler::current();
  if (scheduler == nullptr || scheduler->running() == nullptr) return {};
  return scheduler->running()->id();
}

}  // namespace

observe::SpanId SpanInterceptor::span_of(const Uuid& task) noexcept {
  return {task, span_number(task.hash(), 0)};
}

observe::SpanId SpanInterceptor::span_of(const Uuid& task, std::string_view key,
                                         int attempt) noexcept {
  const auto number = static_cast<std::uint64_t>(attempt);
  return {task, span_number(mix(task.hash(), hash_name(key)), number)};
}

observe::SpanId SpanInterceptor::inside(const observe::SpanId& span,
                                        std::string_view name) noexcept {
  return {span.trace, span_number(span.span, hash_name(name))};
}

void SpanInterceptor::step_ended(const StepCall& call, const std::exception_ptr& failure) noexcept {
  observe::EndedSpan span;
  const observe::SpanId parent = span_of(call.task);
  span.id = span_of(call.task, call.key, call.attempt);
  span.parent = parent.span;
  span.name = call.step;
  span.began = call.began * 1000;
  span.ended = call.ended * 1000;
  span.task = task_that_runs();
  span.failed = failure != nullptr;
  if (span.failed)
    span.error = sentence_of(failure, "something that is no std::exception was thrown");
  span.attributes.emplace_back("attempt", std::to_string(call.attempt));
  span.attributes.emplace_back("key", text_json(call.key));
  tracer_.record(std::move(span));
}

void SpanInterceptor::task_ended(const TaskCall& call, DurableStatus status,
                                 std::string_view detail) noexcept {
  observe::EndedSpan span;
  span.id = span_of(call.task);
  span.name = call.type;
  span.began = call.started * 1000;
  span.ended = call.ended * 1000;
  span.task = task_that_runs();
  span.failed = status != DurableStatus::completed;
  if (span.failed) span.error = detail;
  span.attributes.emplace_back("status", text_json(name_of(status)));
  if (!call.parent.nil()) span.attributes.emplace_back("parent", text_json(call.parent.text()));
  tracer_.record(std::move(span));
}

}  // namespace tiffany

// A span for each durable task and for each attempt at each of its steps.
//
//   observe::Tracer tracer;                                   // must outlive the host
//   HostOptions options;
//   options.interceptors.push_back(std::make_shared<SpanInterceptor>(tracer));
//
// The trace of a task has the id of the task. The id of the span of a task is made of that id, the
// id of the span of an attempt of the key of its step and the number of the attempt: the same in
// every process, so that an attempt that is seen twice around a crash is one span. The span of a
// task begins when the task was started, whichever process that was in, and is made at its end.
#pragma once

#include "tiffany/durable/interceptor.hpp"
#include "tiffany/observe/span.hpp"

namespace tiffany {

class SpanInterceptor final : public Interceptor {
 public:
  explicit SpanInterceptor(observe::Tracer& tracer) noexcept : tracer_(tracer) {}

  void step_ended(const StepCall& call, const std::exception_ptr& failure) noexcept override;
  void task_ended(const TaskCall& call, DurableStatus status,
                  std::string_view detail) noexcept override;

  // The span of a task, as the parent of spans elsewhere.
  static observe::SpanId span_of(const Uuid& task) noexcept;
  // The span of one attempt at a step, by Attempt::key(), and one inside of it.
  static observe::SpanId span_of(const Uuid& task, std::string_view key, int attempt) noexcept;
  static observe::SpanId inside(const observe::SpanId& span, std::string_view name) noexcept;

 private:
  observe::Tracer& tracer_;
};

}  // namespace tiffany

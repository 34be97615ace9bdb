// What a host tells and asks around starts, signals, updates, steps and ends of its durable tasks:
// for authorisation, tracing, metrics. Not a place for work: the code of tasks is.
//
//   class OnlyStaff : public Interceptor {
//     void on_start(StartCall& call) override {
//       if (!staff) throw Error(Errc::bad_argument, "Only staff may start a refund.");
//       call.attributes.insert_or_assign("by", staff->name);
//     }
//   };
//   HostOptions options;
//   options.interceptors.push_back(std::make_shared<OnlyStaff>());
//
// Deterministic by construction: an interceptor sees what is about to be recorded, or was, and the
// code of a task cannot see the interceptor. on_start may add attributes, on_start, on_signal,
// on_update and step_begins may refuse by throwing; nothing else can be changed. What a replay does
// is not told: on_start, on_signal, on_update and the calls about steps are made where the thing
// itself happens.
//
// Crash case: a call is made before its record is written or after, so that a crash between the two
// makes the call again, or loses the last one; nothing in the log depends on it.
//
// Called on the thread of the scheduler, in the order of HostOptions::interceptors; a call must not
// wait, and does not call its host. SpanInterceptor (durable/span_interceptor.hpp) makes spans.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "tiffany/base/uuid.hpp"
#include "tiffany/durable/attributes.hpp"

namespace tiffany {

enum class DurableStatus : std::uint8_t;

// A task that is to be started, by Host::start or by another task.
struct StartCall {
  Uuid id;
  Uuid parent;  // nil: none
  std::string_view type;
  std::string_view key;        // StartOptions::key; empty: none
  std::string_view arguments;  // an array, as JSON
  Attributes attributes;       // of the start; more may be added
};

// A value for a task, of Host::signal.
struct SignalCall {
  Uuid task;
  std::string_view type;  // of the task
  std::string_view name;
  std::string_view value;  // as JSON
};

// A request to a task, of Host::update.
struct UpdateCall {
  Uuid task;
  std::string_view type;  // of the task
  std::string_view name;
  std::string_view request;  // as JSON
  std::string_view id;       // of the update
};

// One attempt at a step.
struct StepCall {
  Uuid task;
  std::string_view type;   // of the task
  std::string_view step;   // "charge#1"
  std::string_view key;    // Attempt::key()
  int attempt = 1;         // counted from one
  std::int64_t began = 0;  // microseconds since 1970, by the clock of the log
  std::int64_t ended = 0;  // zero before its end
};

// The code of a task.
struct TaskCall {
  Uuid task;
  Uuid parent;  // nil: none
  std::string_view type;
  std::int64_t started = 0;  // as recorded, in microseconds since 1970
  std::int64_t ended = 0;
};

class Interceptor {
 public:
  virtual ~Interceptor();
  Interceptor(const Interceptor&) = delete;
  Interceptor& operator=(const Interceptor&) = delete;

  // Before a task is recorded; not for a second start with the same id. What is thrown refuses the
  // start, as an Error (Errc::call_refused) with its sentence; a task that spawned a child is shown
  // a child that failed with it.
  virtual void on_start(StartCall& call);
  // Before a signal is recorded. What is thrown refuses it, as Errc::call_refused.
  virtual void on_signal(const SignalCall& call);
  // Before an update is recorded, and before the validator of the task looks at the request; not
  // for a second one with the same id. What is thrown refuses it, as Errc::call_refused.
  virtual void on_update(const UpdateCall& call);
  // Before the code of an attempt runs. What is thrown is as if the code had thrown it: the attempt
  // has failed, and is made again if the step allows that (NotRetryable: it is not).
  virtual void step_begins(const StepCall& call);
  // The code of an attempt has ended, and its record follows. `failure`: what it threw; null when
  // it did not. Also called when the process stops the step before its end.
  virtual void step_ended(const StepCall& call, const std::exception_ptr& failure) noexcept;
  // The end of a task is on the disk. `detail`: its result as JSON, or its sentence.
  virtual void task_ended(const TaskCall& call, DurableStatus status,
                          std::string_view detail) noexcept;

 protected:
  Interceptor() = default;
};

}  // namespace tiffany

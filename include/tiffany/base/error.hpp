// Every error Tiffany raises: a stable number, a one-line meaning, and a sentence that says what
// happened, where, and what to do.
//
// `Cancelled` (core/cancel.hpp) is not in this table on purpose: it is not an error but the way a
// cancelled task leaves its own code, and `catch (const std::exception&)` must not swallow it.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tiffany {

// name, number, meaning. Numbers are never reused.
#define TIFFANY_ERRORS(X)                                                                    \
  X(deadlock, 101, "tasks are left and nothing can ever wake them")                          \
  X(task_cancelled, 102, "the task that was awaited had been cancelled")                     \
  X(scope_cancelled, 103, "a scope was cancelled before its block had run to its end")       \
  X(timed_out, 104, "the value of an operation that timed out was asked for")                \
  X(all_failed, 105, "any() or a first_success scope had no success to return")              \
  X(broken_promise, 106, "a promise was dropped before it was completed")                    \
  X(already_settled, 107, "a promise was completed or failed a second time")                 \
  X(empty_race, 108, "a race had nothing to wait for")                                       \
  X(bad_argument, 109, "an argument is outside its range")                                   \
  X(no_task, 110, "a call that needs a running task was made outside of one")                \
  X(stale_handle, 111, "a handle or id does not name a task any more")                       \
  X(value_taken, 112, "a result that can only be moved was taken by an earlier await")       \
  X(nested_run, 113, "a scheduler was driven from inside a task or from a second place")     \
  X(unknown_promise, 114, "no pending external promise has this UUID or type")               \
  X(diverged, 115, "a recorded order does not fit the program that it drives")               \
  X(no_wake_source, 116, "a poll-style task returned pending and registered no way to wake") \
  X(self_join, 117, "a task waited for itself")                                              \
  X(not_in_context, 120, "a value was asked of the context and nobody had set it")           \
  X(no_handler, 121, "an effect was performed and no handler for it is installed")           \
  X(key_type, 122, "a name in the state was used with two types")                            \
  X(tasks_failed, 130, "tasks of a scope that collects failures have failed")                \
  X(supervision_failed, 131, "a supervisor had to restart its children too often")           \
  X(system_task_failed, 132, "a system task failed, and that ends the run")                  \
  X(unknown_task, 133, "an id that no task has or had was used as a dependency")             \
  X(dependency_failed, 134, "a task was not begun because a task it comes after failed")     \
  X(bad_graph, 135, "a task graph has a name twice, an unknown name, or a cycle")            \
  X(mailbox_closed, 140, "a mailbox was awaited that nobody can post to any more")           \
  X(check_failed, 141, "a check() of a test did not hold")                                   \
  X(no_answer, 142, "a mock was called and its script has no answer for the call")           \
  X(never_ends, 143, "a program under test was still running after its limit of picks")      \
  X(spawn_denied, 150, "a task could not be spawned because a limit is reached")             \
  X(no_fiber, 151, "await() was called by code that does not run in a fiber")                \
  X(no_stack, 152, "the system gives no memory for the stack of a fiber")                    \
  X(channel_closed, 160, "a value was sent into a channel that takes none any more")         \
  X(relock, 161, "a task asked for a lock that it holds already")                            \
  X(primitive_gone, 162, "what a task waited for was destroyed")                             \
  X(holds_nothing, 163, "a guard or a half of a channel was used that has nothing in it")    \
  X(command_failed, 164, "a supervised command could not be begun, stopped or forgotten")    \
  X(command_conflict, 165, "the id of a command belongs to another command already")         \
  X(command_damaged, 166, "a file of a supervised command is not what was written there")    \
  X(bad_plan, 167, "a plan has mistakes")                                                    \
  X(plan_failed, 168, "a step of a plan failed")                                             \
  X(sandbox_missing, 169, "this machine cannot give the sandbox that a command needs")       \
  X(io_failed, 200, "the operating system refused an operation, or it failed")               \
  X(no_io, 201, "an operation was awaited that the scheduler's reactor cannot carry out")    \
  X(end_of_stream, 202, "a stream ended before all the bytes that were asked for had come")  \
  X(bad_address, 203, "a text is not an address, or no such host is known")                  \
  X(line_too_long, 204, "a line was longer than its reader allows")                          \
  X(value_not_encoded, 205, "the codec of a log refuses a value that is to be recorded")     \
  X(value_not_decoded, 206, "a recorded value needs another codec or key, or was changed")   \
  X(call_refused, 207, "an interceptor of a host refused a start, signal, update or step")   \
  X(tls_failed, 210, "a TLS handshake failed, or a TLS stream broke")                        \
  X(tls_refused, 211, "the certificate of the other side was refused")                       \
  X(tls_truncated, 212, "a TLS stream ended without its other side having said so")          \
  X(tls_busy, 213, "two tasks read from, or wrote to, one TLS stream at the same time")      \
  X(tls_setup, 214, "a TLS context, a certificate, a key or a host name cannot be used")     \
  X(tls_closed, 215, "a TLS stream was used after its end")                                  \
  X(bad_json, 300, "a text is not the JSON that was expected")                               \
  X(log_busy, 301, "another process writes the log that was to be opened")                   \
  X(log_sealed, 302, "the log could not write, and takes no more records")                   \
  X(log_damaged, 303, "a log holds what nobody wrote into it")                               \
  X(log_fenced, 304, "another process owns the log now; this one may not write")             \
  X(log_uncertain, 305, "an id that a damaged log does not know may have been used before")  \
  X(log_layout, 306, "a directory holds a log in another layout than it was opened in")      \
  X(not_a_log, 307, "a directory, or a file in it, is not what a log is made of")            \
  X(unknown_type, 310, "no durable task of that name and version is registered")             \
  X(unknown_durable, 311, "no durable task, promise, step or query has that name")           \
  X(step_failed, 312, "a step of a durable task failed as often as it may be tried")         \
  X(step_unknown, 313, "nobody knows whether a step had its effect before the crash")        \
  X(durable_failed, 314, "the durable task whose result was asked for has failed")           \
  X(durable_cancelled, 315, "a durable task was cancelled")                                  \
  X(durable_stopped, 316, "a durable task does not run: it is paused, or its log is wrong")  \
  X(durable_misuse, 317, "a durable task was used in a way that its log cannot record")      \
  X(scope_timed_out, 318, "the time of a scope of a durable task is over")                   \
  X(update_refused, 319, "a durable task refused an update; nothing of it is in the log")    \
  X(start_conflict, 320, "the id of a start belongs to another durable task already")        \
  X(id_retired, 321, "the durable task of that id has ended and has left the archive")       \
  X(update_conflict, 322, "the id of an update belongs to another update of the task")       \
  X(too_many_updates, 323, "too many updates of a durable task wait for an answer")          \
  X(canvas_failed, 330, "a repository cannot be read or written as an agent needs it")       \
  X(canvas_conflict, 331, "a change does not fit to what a repository holds by now")         \
  X(bad_tool, 332, "the manifest of a tool, or the arguments for it, are not valid")         \
  X(tool_refused, 333, "a policy or a person does not allow that a tool is run")             \
  X(model_failed, 334, "a model could not be asked, or its reply broke off")                 \
  X(bad_reply, 335, "what a model or a tool server said is not what its protocol has")       \
  X(approval_refused, 336, "an answer does not fit to what waits for approval")              \
  X(budget_spent, 337, "the budget of an agent does not allow what was to be done")          \
  X(memory_failed, 338, "the memory of agents cannot be read or written")

enum class Errc : int {
#define X(name, number, meaning) name = number,
  TIFFANY_ERRORS(X)
#undef X
};

// Its name in the table above: "bad_argument".
std::string_view name_of(Errc code) noexcept;
// The one-line meaning from the table above.
const char* meaning(Errc code) noexcept;

// What an exception says: its what(), or that it says nothing; `no error` for null.
std::string error_text(const std::exception_ptr& error);

// What the library throws. Programs decide by code() and show what(): the sentence may be worded
// better in a later version, a number keeps its meaning. Errors that carry more derive from this.
class Error : public std::runtime_error {
 public:
  Error(Errc code, const std::string& sentence) : std::runtime_error(sentence), code_(code) {}
  Errc code() const noexcept { return code_; }

 private:
  Errc code_;
};

}  // namespace tiffany

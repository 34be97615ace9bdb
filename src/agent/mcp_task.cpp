// Calls that a server goes on with as tasks of its own (the extension of MCP for them): how they
// stand is asked for until they have ended.
#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/mcp_session.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::agent::mcp {
namespace {

using namespace std::chrono_literals;

Time clock_now() { return Scheduler::require("McpServer").deadline_in(Duration::zero()); }

}  // namespace

Task<Said> Session::ask_about(std::string method, std::string task) {
  const std::shared_ptr<Link> link = co_await connected();
  const std::int64_t id = ++last_id_;
  Ask ask(id, method, request_text(id, method, "\"taskId\":" + json_text(task), version()),
          options.idle);
  ask.tool = std::move(task);
  Said said = co_await link->ask(ask);
  co_return said;
}

Task<CallResult> Session::look_at_task(std::string task) {
  Time heard = clock_now();
  Duration pause = 1s;
  for (;;) {
    std::string silent;
    Said said;
    try {
      said = co_await ask_about("tasks/get", task);
    } catch (const Error& error) {
      silent = error.what();
    }
    if (!silent.empty()) {
      // It may be started again, or come back: the task is its own, and goes on there.
      if (clock_now() - heard > options.deadline) {
        throw Error(Errc::io_failed, silent + " It took the call as its task " +
                                         in_a_sentence(task, 80) + ", and did not say how that " +
                                         "stands for " + duration_text(options.deadline) + ".");
      }
      co_await sleep(pause);
      continue;
    }
    heard = clock_now();
    CallResult ended;
    ended.failed = true;
    if (said.failed()) {
      ended.text = "The server took the call as its task " + in_a_sentence(task, 80) +
                   ", and does not know it any more (" + std::to_string(*said.code) +
                   "): " + plain_text(said.error.substr(0, 4096)) +
                   ". Nobody knows whether it had its effect.";
      co_return ended;
    }
    TaskState state = read_task_state(said.result);
    if (state.ended) co_return std::move(state.result);
    if (state.asks) {
      co_await cancel_task(task);
      ended.text =
          "The tool asks its user for something before it goes on, and nobody is asked here. Its "
          "task was cancelled." +
          (state.about.empty() ? "" : " " + state.about);
      co_return ended;
    }
    pause = state.pause;
    co_await sleep(pause);
  }
}

Task<CallResult> Session::await_task(std::string task) {
  Task<CallResult> looking = look_at_task(task);
  auto looked = co_await within(options.task, std::move(looking));
  if (!looked.timed_out()) co_return std::move(looked).value();
  co_await cancel_task(task);
  CallResult late;
  late.failed = true;
  late.text = "The server did not end the call within " + duration_text(options.task) +
              ". It was told to cancel its task.";
  co_return late;
}

Task<void> Session::cancel_task(std::string task) {
  try {
    Task<Said> telling = ask_about("tasks/cancel", std::move(task));
    (void)co_await within(options.idle, std::move(telling));
  } catch (const Error&) {  // it has ended, or nobody is there
  }
}

}  // namespace tiffany::agent::mcp

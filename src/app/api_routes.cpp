// All that the API has. The OpenAPI document is made of this table.
#include <array>

#include "app/api.hpp"

namespace tiffany::app {
namespace {

constexpr Role kLook = Role::viewer;
constexpr Role kOperate = Role::operates;
constexpr Role kAdmin = Role::admin;

constexpr std::array kRoutes{
    Route{"GET", "/info", kLook, false, "The daemon: version, uptime, counts of tasks, who you are",
          "", "", "Info", calls::info},
    Route{"GET", "/openapi.json", kLook, false, "This document", "", "", "Any", calls::openapi},
    Route{"GET", "/types", kLook, false, "Types of tasks that can be started, with their arguments",
          "", "", "Types", calls::types},

    Route{"GET", "/tasks", kLook, false, "A page of tasks of the log, with counts by status",
          "status,type,key,parent,attribute,order,limit,after", "", "TaskPage", calls::list_tasks},
    Route{"POST", "/tasks", kOperate, true,
          "Starts a task; the same id, or the same Idempotency-Key, is the same task", "", "Start",
          "Task", calls::start_task},
    Route{"GET", "/tasks/{task}", kLook, false, "A task, and what it waits for", "", "", "Task",
          calls::show_task},
    Route{"GET", "/tasks/{task}/records", kLook, false, "The log of a task, from behind a record",
          "after,limit,type", "", "Records", calls::task_records},
    Route{"GET", "/tasks/{task}/result", kLook, false,
          "A task when it has ended, or 202 after `wait` (30s, at most 10m)", "wait", "", "Task",
          calls::task_result},
    Route{"GET", "/tasks/{task}/query", kLook, false, "Asks the code of a task", "name", "", "Any",
          calls::query_task},
    Route{"GET", "/tasks/{task}/inspect", kLook, false,
          "Runs the code along the log, and says what it would do next", "", "", "Inspection",
          calls::inspect_task},
    Route{"GET", "/tasks/{task}/replay", kLook, false, "Whether the code does what the log says",
          "", "", "Inspection", calls::replay_task},
    Route{"POST", "/tasks/{task}/signal", kOperate, true, "Sends a value to a task", "", "Signal",
          "Done", calls::signal_task},
    Route{"POST", "/tasks/{task}/cancel", kOperate, true, "Cancels: the task unwinds", "", "Reason",
          "Done", calls::cancel_task},
    Route{"POST", "/tasks/{task}/kill", kOperate, true,
          "Ends a task without running any more of its code", "", "Reason", "Done",
          calls::kill_task},
    Route{"POST", "/tasks/{task}/pause", kOperate, true, "Stops a task where it is", "", "Reason",
          "Done", calls::pause_task},
    Route{"POST", "/tasks/{task}/resume", kOperate, true, "Lets a paused task go on", "", "Reason",
          "Done", calls::resume_task},
    Route{"POST", "/tasks/{task}/retry", kOperate, true,
          "Forgets a failure and everything from a step on", "", "From", "Done", calls::retry_task},
    Route{"POST", "/tasks/{task}/fork", kOperate, true,
          "Another task with the history up to a step", "", "From", "Forked", calls::fork_task},

    Route{"GET", "/promises", kLook, false,
          "Promises that nobody has kept yet: approvals that wait", "limit", "", "Promises",
          calls::list_promises},
    Route{"POST", "/promises/{promise}", kOperate, true,
          "Keeps a promise with a value, or breaks it with an error", "", "Keep", "Done",
          calls::keep_promise},

    Route{"GET", "/schedules", kLook, false, "All schedules", "", "", "Schedules",
          calls::list_schedules},
    Route{"POST", "/schedules", kOperate, true, "Makes a schedule", "", "NewSchedule", "Any",
          calls::create_schedule},
    Route{"GET", "/schedules/{name}", kLook, false, "One schedule", "", "", "Schedule",
          calls::show_schedule},
    Route{"DELETE", "/schedules/{name}", kOperate, true,
          "Removes a schedule; runs that are under way go on", "", "", "Done",
          calls::remove_schedule},
    Route{"POST", "/schedules/{name}/{verb}", kOperate, true, "pause, resume or run", "", "",
          "Done", calls::tell_schedule},

    Route{"POST", "/plans/check", kLook, false, "All mistakes of a plan, with line and column", "",
          "PlanText", "PlanCheck", calls::check_plan},
    Route{"POST", "/plans/run", kOperate, true, "Runs a plan that comes with the request", "",
          "RunPlan", "Task", calls::run_plan},
    Route{"GET", "/plans", kLook, false, "Plans of the daemon's own directory", "", "", "Plans",
          calls::list_plans},
    Route{"GET", "/plans/{name}", kLook, false, "One of them, with its text and its graph", "", "",
          "Any", calls::show_plan},
    Route{"POST", "/plans/{name}/run", kOperate, true, "Runs one of them", "", "RunKnownPlan",
          "Task", calls::run_known_plan},
    Route{"GET", "/tasks/{task}/plan", kLook, false, "The graph of a plan and how each unit stands",
          "", "", "PlanState", calls::task_plan},
    Route{"GET", "/tasks/{task}/output", kLook, false, "What a command of a plan wrote",
          "unit,which,attempt", "", "", calls::task_output},
    Route{"POST", "/tasks/{task}/decide", kOperate, true,
          "Approves or rejects what a plan asks, bound to the digest of the question", "", "Decide",
          "Done", calls::decide_plan},

    Route{"GET", "/pal", kLook, false,
          "Events as they happen (text/event-stream); Last-Event-ID goes on", "task,kind,after", "",
          "", nullptr, calls::pal_events},
    Route{"GET", "/pal/ws", kLook, false, "The same over a WebSocket, an object a message",
          "task,kind,after", "", "", nullptr, calls::pal_socket},
    Route{"GET", "/problems", kLook, false, "Tasks of the process that are in trouble", "", "",
          "Problems", calls::problems},
    Route{"GET", "/dump", kLook, false,
          "What every task of the process waits for, with its await stack", "format", "", "Any",
          calls::dump},

    Route{"GET", "/audit", kAdmin, false, "Who changed what, and why", "limit", "", "Any",
          calls::audit},
    Route{"GET", "/settings", kAdmin, false, "Settings, and where each is from", "", "", "Any",
          calls::settings},
    Route{"POST", "/levels", kAdmin, true, "Levels of the log of the program", "", "Levels", "Any",
          calls::set_levels},
    Route{"GET", "/tokens", kAdmin, false, "Tokens by name and role", "", "", "Tokens",
          calls::list_tokens},
    Route{"POST", "/tokens", kAdmin, true, "Makes a token, which is shown once", "", "NewToken",
          "Token", calls::create_token},
    Route{"DELETE", "/tokens/{name}", kAdmin, true, "Removes a token", "", "", "Done",
          calls::remove_token},
    Route{"POST", "/compact", kAdmin, true, "Moves tasks that have ended into the archive", "", "",
          "Any", calls::compact},
    Route{"POST", "/backup", kAdmin, true,
          "Copies the log, while it is in use, into an empty directory of the daemon's machine", "",
          "Backup", "Any", calls::backup},
    Route{"POST", "/shutdown", kAdmin, true, "Ends the daemon; tasks go on at its next start", "",
          "Reason", "Done", calls::shut_down},
};

}  // namespace

std::span<const Route> routes() noexcept { return kRoutes; }

}  // namespace tiffany::app

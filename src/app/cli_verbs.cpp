// All commands. Everything else about them is made of this table.
#include <array>

#include "app/cli.hpp"

namespace tiffany::app {
namespace {

using CliWords = std::vector<CliWord>;
using CliOptions = std::vector<CliOption>;

const CliWord kTask{"TASK", "id of a task, or a beginning of it that no other task has",
                    Fill::task};
const CliWord kTasks{"TASK", "ids of tasks, or beginnings of them", Fill::task, Count::some};
const CliWord kStep{"STEP", "name of a step, such as charge#1"};
const CliWord kScheduleName{"NAME", "name of the schedule", Fill::schedule};
const CliOption kWhy{"-m,--message", "TEXT", "why, for the audit"};
const CliOption kLimit{"-n,--limit", "N", "at most so many"};

CliOptions waiting_options() {
  return {{"--timeout", "D", "wait so long (30s, 5m), then end with 5; the task goes on"},
          {"--through-approvals", "", "wait on although a promise waits for a person"},
          {"--reconnect", "D", "how long to look for a daemon that went away (30s)"}};
}
CliOptions with(CliOptions first, const CliOptions& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}
CliOptions start_options() {
  return with({{"--arguments", "JSON", "all arguments, as an array or an object by names"},
               {"--id", "ID", "id of the task, a UUID or any text: the same is the same task"},
               {"--key", "KEY", "key for the limits of the type"},
               {"--priority", "N", "0 to 255; small numbers first"},
               {"--task-timeout", "D", "the task is cancelled after that"},
               {"--attribute", "NAME=JSON", "search attribute; may be repeated"},
               {"--wait", "", "wait for the end of the task and print its result"},
               {"--watch", "", "print what happens until the end of the task"}},
              waiting_options());
}
CliOptions listing_options() {
  return {{"-a,--all", "", "tasks that have ended, too"},
          {"--status",
           "STATUS",
           "only these",
           {"running", "queued", "paused", "diverged", "quarantined", "completed", "failed",
            "cancelled"}},
          {"--type", "TYPE", "only of this type"},
          {"--key", "KEY", "only with this key"},
          {"--attribute", "NAME:JSON", "only with this search attribute"},
          kLimit};
}
CliOptions deciding_options() {
  return {{"--promise", "NAME", "which promise of the task, when several wait"},
          {"--value", "JSON", "what the promise is kept with"},
          {"--digest", "HEX", "of a plan: only if this is still the digest of what is asked"},
          kWhy};
}

void add_tasks(std::vector<Verb>& all) {
  const std::string group = "Tasks";
  const CliWords start_words{
      {"TYPE", "type of the task", Fill::type},
      {"ARGUMENT", "name=value, or values in their order; JSON or plain text", Fill::nothing,
       Count::any}};
  all.push_back(
      {"start", group, "start a task; prints its id", start_words, start_options(), verb::start});
  all.push_back(
      {"submit", group, "the same as start", start_words, start_options(), verb::start, true});
  all.push_back({"ps", group, "list tasks that have not ended", {}, listing_options(), verb::ps});
  all.push_back({"show", group, "one task, and what it waits for", {kTask}, {}, verb::show});
  all.push_back({"tree",
                 group,
                 "tasks below the tasks that started them; ends with 11 when some wait in a circle",
                 {{"TASK", "only this one and those below it", Fill::task, Count::maybe}},
                 {{"-a,--all", "", "tasks that have ended, too"},
                  {"--ascii", "", "lines of plain characters"}},
                 verb::tree});
  all.push_back({"watch",
                 group,
                 "follow a task until it has ended; Ctrl-C detaches",
                 {kTask},
                 with({{"--kind", "KINDS", "events besides those of the log: agent,runtime,sched"},
                       {"--since", "SEQ", "only records behind this one"}},
                      waiting_options()),
                 verb::watch});
  all.push_back({"logs",
                 group,
                 "the records of a task, readable",
                 {kTask},
                 {{"--since", "SEQ", "only records behind this one"},
                  {"--type", "TYPE", "only records of this type, such as StepEnd"},
                  {"-f,--follow", "", "go on until the task has ended; Ctrl-C detaches"},
                  {"--reconnect", "D", "how long to look for a daemon that went away (30s)"},
                  kLimit},
                 verb::logs});
  all.push_back({"result",
                 group,
                 "the result of a task; its status is the status of the command",
                 {kTask},
                 with({{"--wait", "", "wait for the end of the task"}}, waiting_options()),
                 verb::result});
  all.push_back({"types",
                 group,
                 "types of tasks that can be started, with their arguments",
                 {},
                 {},
                 verb::types});
  all.push_back({"top",
                 group,
                 "tasks and load, live",
                 {},
                 {{"-d,--delay", "D", "time between two pictures (2s)"},
                  {"-b,--batch", "", "as text, one picture after the other"},
                  {"-n,--count", "N", "end after so many pictures"}},
                 verb::top});
}

void add_steering(std::vector<Verb>& all) {
  const std::string group = "Steering";
  const CliWord which{"TASK", "a task that waits for a promise, or the promise: id or beginning",
                      Fill::promise, Count::maybe};
  all.push_back({"approve",
                 group,
                 "keep a promise with true, or --value",
                 {which},
                 with(deciding_options(), {{"--scope",
                                            "SCOPE",
                                            "of an agent: for this call, for this tool in the "
                                            "whole task, or for this call of every task",
                                            {"once", "task", "rule"}}}),
                 verb::approve});
  all.push_back(
      {"reject",
       group,
       "keep a promise with false, or break it with --error",
       {which},
       with(deciding_options(), {{"--error", "TEXT", "break it: the task gets an error"}}),
       verb::reject});
  all.push_back({"complete",
                 group,
                 "keep a promise with a value",
                 {{"PROMISE", "id of the promise", Fill::promise}, {"JSON", "the value"}},
                 {kWhy},
                 verb::complete});
  all.push_back({"promises",
                 group,
                 "promises that wait to be kept: approvals",
                 {},
                 {kLimit},
                 verb::promises});
  all.push_back({"approvals", group, "the same as promises", {}, {kLimit}, verb::promises, true});
  all.push_back({"signal",
                 group,
                 "send a value to a task",
                 {kTask,
                  {"NAME", "name of the signal"},
                  {"JSON", "the value (null)", Fill::nothing, Count::maybe}},
                 {kWhy},
                 verb::signal});
  all.push_back(
      {"update",
       group,
       "have the code of a task change something, and print its answer",
       {kTask,
        {"NAME", "name of the update"},
        {"JSON", "the request (null)", Fill::nothing, Count::maybe}},
       {{"--id", "ID", "id of the update, a UUID or any text: the same is the same"}, kWhy},
       verb::update});
  all.push_back({"query",
                 group,
                 "ask the code of a task",
                 {kTask, {"NAME", "name of the query"}},
                 {},
                 verb::query});
  all.push_back({"cancel", group, "cancel: the task unwinds", {kTasks}, {kWhy}, verb::cancel});
  all.push_back({"kill",
                 group,
                 "end a task without running any more of its code",
                 {kTasks},
                 {kWhy},
                 verb::kill});
  all.push_back({"pause", group, "stop a task where it is", {kTasks}, {kWhy}, verb::pause});
  all.push_back({"resume", group, "let a paused task go on", {kTasks}, {kWhy}, verb::resume});
  all.push_back({"retry",
                 group,
                 "forget a failure and everything from a step on",
                 {kTask, kStep},
                 {kWhy},
                 verb::retry});
  all.push_back({"fork",
                 group,
                 "another task with the history up to a step; prints its id",
                 {kTask, kStep},
                 {kWhy},
                 verb::fork});
  all.push_back({"inspect",
                 group,
                 "run the code along the log, and say what it would do next",
                 {kTask},
                 {},
                 verb::inspect});
  all.push_back({"replay",
                 group,
                 "does the code do what the log says? Ends with 10 when not",
                 {kTask},
                 {},
                 verb::replay});
}

void add_schedules_verbs(std::vector<Verb>& all) {
  const std::string group = "Schedules";
  all.push_back({"schedule create",
                 group,
                 "start tasks by the time",
                 {{"NAME", "name of the schedule"},
                  {"TYPE", "type of the tasks", Fill::type},
                  {"ARGUMENT", "as of start", Fill::nothing, Count::any}},
                 {{"--cron", "TEXT", "when, as cron has it: \"0 9 * * 1-5\""},
                  {"--every", "D", "or how often: 10m"},
                  {"--zone", "NAME", "time zone of cron (UTC)"},
                  {"--overlap",
                   "HOW",
                   "when the one before has not ended (skip)",
                   {"skip", "queue", "cancel"}},
                  {"--catch-up", "N", "how many that were missed are made up for"},
                  {"--arguments", "JSON", "all arguments, as an array"}},
                 verb::schedule_create});
  all.push_back({"schedule ls", group, "all schedules", {}, {}, verb::schedule_ls});
  all.push_back({"schedule show", group, "one schedule", {kScheduleName}, {}, verb::schedule_show});
  all.push_back({"schedule pause",
                 group,
                 "start nothing until it is resumed",
                 {kScheduleName},
                 {},
                 verb::schedule_pause});
  all.push_back({"schedule resume", group, "go on", {kScheduleName}, {}, verb::schedule_resume});
  all.push_back(
      {"schedule run", group, "start a task now", {kScheduleName}, {}, verb::schedule_run});
  all.push_back({"schedule rm",
                 group,
                 "remove it; tasks that it started go on",
                 {kScheduleName},
                 {},
                 verb::schedule_rm});
}

void add_plan_verbs(std::vector<Verb>& all) {
  const std::string group = "Plans";
  const CliWord file{"PLAN", "file with a plan, in YAML or JSON", Fill::file};
  all.push_back({"run",
                 group,
                 "run a plan and show its steps; Ctrl-C detaches",
                 {{"PLAN", "file with a plan, or the name of one that the daemon has", Fill::file}},
                 with({{"-p,--param", "NAME=VALUE", "a parameter; may be repeated"},
                       {"--id", "ID", "id of the task, a UUID or any text: the same is the same"},
                       {"--detach", "", "print the id and do not wait"},
                       {"--local", "", "in this process, without a daemon"},
                       {"--data", "DIR", "with --local: where the log is kept"}},
                      waiting_options()),
                 verb::run});
  all.push_back({"plan check",
                 group,
                 "all mistakes, with line and column; needs no daemon",
                 {{"PLAN", "files with plans", Fill::file, Count::some}},
                 {},
                 verb::plan_check});
  all.push_back({"plan graph",
                 group,
                 "draw a plan; needs no daemon",
                 {file},
                 {{"--as", "FORM", "text, dot or json (text)", {"text", "dot", "json"}}},
                 verb::plan_graph});
  all.push_back({"plan status",
                 group,
                 "how each step of a plan that runs, or ran, stands",
                 {kTask},
                 {},
                 verb::plan_status});
  all.push_back({"plan ls", group, "plans that the daemon has", {}, {}, verb::plan_ls});
  all.push_back({"output",
                 group,
                 "what a command of a plan wrote",
                 {kTask, {"UNIT", "the step, such as build or test[2]"}},
                 {{"--errors", "", "what it wrote to standard error"},
                  {"--attempt", "N", "which attempt (1)"}},
                 verb::plan_output});
  all.push_back({"artifacts",
                 group,
                 "files that the steps of a plan left; one of them to standard output",
                 {kTask, {"NAME", "the name of one", Fill::nothing, Count::maybe}},
                 {{"--unit", "UNIT", "of that step, when several have the name"}},
                 verb::plan_artifacts});
}

void add_knowledge_verbs(std::vector<Verb>& all, const std::string& group) {
  const CliWord note{"NOTE", "id of a note"};
  all.push_back({"skills",
                 group,
                 "skills of agents, with their digests, and how often each was read",
                 {},
                 {},
                 verb::skills});
  const CliWord server{"SERVER", "name of an MCP server"};
  all.push_back({"servers ls",
                 group,
                 "MCP servers whose tools agents have, with the digests of their lists",
                 {},
                 {},
                 verb::servers_ls});
  all.push_back({"servers show",
                 group,
                 "what a server offers differently than it did when its list was kept",
                 {server},
                 {},
                 verb::servers_show});
  all.push_back({"servers accept",
                 group,
                 "show that, and keep the list that it offers now",
                 {server},
                 {{"--digest", "DIGEST", "only if the list has this digest"}, kWhy},
                 verb::servers_accept});
  all.push_back({"memory ls", group, "the newest notes of agents", {}, {kLimit}, verb::memory_ls});
  all.push_back({"memory recall",
                 group,
                 "notes of agents that have these words, the best first",
                 {{"WORD", "words", Fill::nothing, Count::some}},
                 {{"--kind", "KIND", "only of this kind"},
                  {"--depth", "N", "notes that are so many edges away, too"},
                  kLimit},
                 verb::memory_recall});
  all.push_back({"memory show",
                 group,
                 "one note, where it comes from, and what it is connected with",
                 {note},
                 {},
                 verb::memory_show});
  all.push_back(
      {"memory forget", group, "remove a note for good", {note}, {}, verb::memory_forget});
  all.push_back({"memory embed",
                 group,
                 "give notes without a vector one, by the endpoint of embeddings",
                 {},
                 {},
                 verb::memory_embed});
}

void add_agent_verbs(std::vector<Verb>& all) {
  const std::string group = "Agents";
  all.push_back({"agent",
                 group,
                 "let an agent change a repository, and show what it does; Ctrl-C detaches",
                 {{"INSTRUCTION", "what it is to do"}},
                 with({{"--repo", "DIR", "the repository (.)"},
                       {"--base", "REV", "branch, tag or commit to begin with (HEAD)"},
                       {"--onto", "BRANCH", "branch that gets the commit (tiffany/<task>)"},
                       {"--model", "NAME", "which model is asked; without it the first"},
                       {"--script", "FILE", "replies from a file instead of a model"},
                       {"--turns", "N", "at most so many questions to the model"},
                       {"--tokens", "N", "at most so many tokens"},
                       {"--id", "ID", "id of the task, a UUID or any text: the same is the same"},
                       {"--detach", "", "print the id and do not wait"}},
                      waiting_options()),
                 verb::agent});
  all.push_back(
      {"diff", group, "the patch of an agent that waits for an approval", {kTask}, {}, verb::diff});
  all.push_back({"budget",
                 group,
                 "what an agent has used; with amounts: raise its budget by so much",
                 {kTask},
                 {{"--turns", "N", "questions to the model"},
                  {"--tokens", "N", "tokens"},
                  {"--micro-dollars", "N", "millionths of a dollar"},
                  {"--seconds", "N", "time"},
                  {"--tool-runs", "N", "runs of tools"},
                  {"--bytes", "N", "bytes that tools answer"}},
                 verb::budget});
  all.push_back(
      {"rules ls", group, "calls of tools that were allowed for good", {}, {}, verb::rules_ls});
  all.push_back({"rules rm",
                 group,
                 "remove such a rule: the call asks again",
                 {{"RULE", "id of the rule"}},
                 {},
                 verb::rules_rm});
  all.push_back(
      {"what-if",
       group,
       "the log of an agent under another model: its first decision that differs",
       {kTask},
       {{"--script", "FILE", "replies from a file"},
        {"--models", "FILE", "models to ask, as the setting agents names them"},
        {"--model", "NAME", "which of them; without it the first"},
        {"--prompt", "FILE", "what the model is told first, instead of what is recorded"}},
       verb::what_if});
  add_knowledge_verbs(all, group);
  all.push_back({"mcp",
                 group,
                 "serve the tasks of the daemon to an MCP client, on standard input and output",
                 {},
                 {{"--approve", "", "let the client answer what plans and agents ask a person"}},
                 verb::mcp});
}

}  // namespace

std::span<const Verb> verbs() {
  static const std::vector<Verb> kAll = [] {
    std::vector<Verb> all;
    add_tasks(all);
    add_steering(all);
    add_plan_verbs(all);
    add_agent_verbs(all);
    add_schedules_verbs(all);
    add_daemon_verbs(all);
    return all;
  }();
  return kAll;
}

}  // namespace tiffany::app

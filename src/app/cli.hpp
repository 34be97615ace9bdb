// What commands on a running daemon share: what was given, the client, the output. Internal.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli_client.hpp"
#include "app/cli_grammar.hpp"
#include "app/cli_output.hpp"
#include "tiffany/app/app.hpp"

namespace tiffany::app {

// Exit statuses. docs/23-command-line.md has the table.
namespace ends {
inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;
inline constexpr int kNoDaemon = 3;
inline constexpr int kNoTask = 4;
inline constexpr int kTimeout = 5;
inline constexpr int kApproval = 6;
inline constexpr int kRejected = 7;
inline constexpr int kCancelled = 8;
inline constexpr int kMistake = 9;
inline constexpr int kDiverged = 10;
inline constexpr int kDeadlock = 11;
inline constexpr int kDamaged = 12;
inline constexpr int kInterrupted = 130;
}  // namespace ends

class Cli {
 public:
  Cli(App& of, Given what);

  App& app;
  Given given;
  Output out;
  Client client;

  const std::string& program() const noexcept { return app.name(); }
  // What a person types to run a command on the same daemon.
  std::string command(const std::string& words) const { return program() + at_ + " " + words; }
  // A question to a person, and the answer. Without a terminal: CliFailure kApproval, and `instead`
  // says what to do.
  std::string answer_to(const std::string& question, const std::string& instead) const;
  // Whether to go on with what cannot be undone: --yes, or a person says so.
  void confirm(const std::string& question) const;

 private:
  std::string at_;  // " --socket PATH", when it was given
};

// Whether an exception of that type is a mistake of the program: std::logic_error and what the
// standard derives from it, and std::bad_alloc and its like.
bool tells_of_mistake(const std::string& type);
// The exit status of a command that has waited for the task: by its status, and for one that failed
// by the type of what it threw.
Task<int> end_by_log(Cli& cli, Json task);
// What is waited for by a task: the names of promises that nobody has kept.
std::vector<std::string> promises_of(const Json& task);
// ", for load; dump of 4c1f... has it", of a wait for a lock.
std::string lock_text(const Json& wait);
// Why a task has ended that did not complete.
std::string why_ended(const Json& task);
// Waits until a task has ended, and prints it; --timeout, --through-approvals. Ctrl-C detaches.
Task<int> wait_for_task(Cli& cli, std::string id);
// Follows the events of a task until it has ended.
Task<int> watch_task(Cli& cli, std::string id);
// The same for a task that this command has started; --timeout, --through-approvals.
Task<int> watch_own_task(Cli& cli, std::string id);
// Answers what an agent asks, when the question is the one that the promise is of.
Task<int> decide_agent_question(Cli& cli, Json promise, bool approved);
// The steps of a plan, as they come to other states.
Task<int> follow_plan(Cli& cli, std::string id);
using UnitStates = std::map<std::string, std::string>;  // by the names of units
// A line for each unit whose state is not the one in `known`, which then is; also for those of
// sub-plans that run. Gives the tasks of these.
Task<std::vector<std::string>> show_new_units(Cli& cli, std::string id, UnitStates& known);
// {"a":1} of words a=1, or the one word that is JSON.
std::string json_of_words(const std::vector<std::string>& words);
std::string segment_of(std::string_view text);  // percent-encoded

int cli_main(App& app, int count, char** words);
// Words that a shell may put next.
Task<int> complete_words(Cli& cli);

namespace verb {
Task<int> start(Cli& cli);
Task<int> ps(Cli& cli);
Task<int> show(Cli& cli);
Task<int> tree(Cli& cli);
Task<int> watch(Cli& cli);
Task<int> logs(Cli& cli);
Task<int> result(Cli& cli);
Task<int> types(Cli& cli);
Task<int> top(Cli& cli);
Task<int> approve(Cli& cli);
Task<int> reject(Cli& cli);
Task<int> complete(Cli& cli);
Task<int> promises(Cli& cli);
Task<int> signal(Cli& cli);
Task<int> update(Cli& cli);
Task<int> query(Cli& cli);
Task<int> cancel(Cli& cli);
Task<int> kill(Cli& cli);
Task<int> pause(Cli& cli);
Task<int> resume(Cli& cli);
Task<int> retry(Cli& cli);
Task<int> fork(Cli& cli);
Task<int> inspect(Cli& cli);
Task<int> replay(Cli& cli);
Task<int> run(Cli& cli);
Task<int> agent(Cli& cli);
Task<int> diff(Cli& cli);
Task<int> budget(Cli& cli);
Task<int> check(Cli& cli);
Task<int> rules_ls(Cli& cli);
Task<int> rules_rm(Cli& cli);
Task<int> what_if(Cli& cli);
Task<int> skills(Cli& cli);
Task<int> servers_ls(Cli& cli);
Task<int> servers_show(Cli& cli);
Task<int> servers_accept(Cli& cli);
Task<int> memory_ls(Cli& cli);
Task<int> memory_recall(Cli& cli);
Task<int> memory_show(Cli& cli);
Task<int> memory_forget(Cli& cli);
Task<int> memory_embed(Cli& cli);
Task<int> mcp(Cli& cli);
Task<int> plan_check(Cli& cli);
Task<int> plan_graph(Cli& cli);
Task<int> plan_ls(Cli& cli);
Task<int> plan_output(Cli& cli);
Task<int> plan_artifacts(Cli& cli);
Task<int> schedule_create(Cli& cli);
Task<int> schedule_ls(Cli& cli);
Task<int> schedule_show(Cli& cli);
Task<int> schedule_pause(Cli& cli);
Task<int> schedule_resume(Cli& cli);
Task<int> schedule_run(Cli& cli);
Task<int> schedule_rm(Cli& cli);
Task<int> plan_status(Cli& cli);
Task<int> metrics(Cli& cli);
Task<int> problems(Cli& cli);
Task<int> dump(Cli& cli);
Task<int> audit(Cli& cli);
Task<int> tokens_create(Cli& cli);
Task<int> tokens_ls(Cli& cli);
Task<int> tokens_rm(Cli& cli);
Task<int> levels(Cli& cli);
Task<int> doctor(Cli& cli);
Task<int> compact(Cli& cli);
Task<int> backup(Cli& cli);
Task<int> shutdown(Cli& cli);
Task<int> version(Cli& cli);
}  // namespace verb

}  // namespace tiffany::app

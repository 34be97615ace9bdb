// Commands about the daemon, logs without one, and the program itself.
#include "app/cli.hpp"
#include "app/settings.hpp"

namespace tiffany::app {
namespace {

const CliWord kDir{"DIR", "directory of a log", Fill::file};
const CliWord kFromStep{"STEP", "name of a step, such as charge#1"};
const CliOption kReason{"-m,--message", "TEXT", "why, for the audit"};
const CliOption kMost{"-n,--limit", "N", "at most so many"};

std::vector<CliOption> setting_options() {
  std::vector<CliOption> options;
  for (const Setting& each : all_settings()) {
    std::string value;
    for (const char c : each.name) value += c == '_' ? '_' : static_cast<char>(c - 'a' + 'A');
    options.push_back({each.flag(), value, std::string(each.meaning)});
  }
  return options;
}

void add_daemon(std::vector<Verb>& all) {
  const std::string group = "The daemon";
  const CliWord token{"NAME", "name of the token", Fill::token};
  all.push_back({"serve", group, "be the daemon", {}, setting_options()});
  all.push_back(
      {"config", group, "settings of serve, and where each is from", {}, setting_options()});
  all.push_back({"metrics",
                 group,
                 "metrics, as Prometheus reads them",
                 {},
                 {{"--grep", "TEXT", "only lines with this text"}},
                 verb::metrics});
  all.push_back({"problems",
                 group,
                 "tasks of the process in trouble; ends with 11 for a deadlock",
                 {},
                 {},
                 verb::problems});
  all.push_back({"dump", group, "what every task of the process waits for", {}, {}, verb::dump});
  all.push_back({"audit", group, "who changed what, and why", {}, {kMost}, verb::audit});
  all.push_back({"tokens create",
                 group,
                 "make a token, which is printed once",
                 {{"NAME", "name of the token"}},
                 {{"--role", "ROLE", "what it may do (viewer)", {"viewer", "operator", "admin"}}},
                 verb::tokens_create});
  all.push_back({"tokens ls", group, "tokens by name and role", {}, {}, verb::tokens_ls});
  all.push_back({"tokens rm", group, "remove a token", {token}, {}, verb::tokens_rm});
  all.push_back({"levels",
                 group,
                 "set the levels of the log of the program",
                 {{"LEVELS", "such as info,serve=debug"}},
                 {},
                 verb::levels});
  all.push_back({"doctor",
                 group,
                 "look at the daemon and the machine, and say what is wrong",
                 {},
                 {},
                 verb::doctor});
  all.push_back(
      {"compact", group, "move tasks that have ended into the archive", {}, {}, verb::compact});
  all.push_back({"backup",
                 group,
                 "copy the log, while it is in use, into an empty directory of its machine",
                 {{"DIR", "a path that begins with a slash", Fill::file}},
                 {},
                 verb::backup});
  all.push_back({"shutdown",
                 group,
                 "end the daemon; tasks go on at its next start",
                 {},
                 {kReason},
                 verb::shutdown});
}

void add_closed_logs(std::vector<Verb>& all) {
  const std::string group = "Logs without a daemon";
  const CliWord id{"TASK", "id of a task"};
  all.push_back(
      {"wal verify", group, "check every line and value; 12 when anything is damaged", {kDir}, {}});
  all.push_back({"wal repair",
                 group,
                 "write every good record anew, put damaged files aside",
                 {kDir},
                 {{"--dry-run", "", "only say what cannot be read"}}});
  all.push_back({"wal export",
                 group,
                 "write <task>.wal and its long values into a directory",
                 {kDir, {"TASK", "only this task", Fill::nothing, Count::maybe}},
                 {{"--to", "DIR", "where to"}}});
  all.push_back({"wal tail",
                 group,
                 "the last records, by their times",
                 {kDir, {"COUNT", "how many (20)", Fill::nothing, Count::maybe}},
                 {}});
  all.push_back(
      {"wal compact",
       group,
       "move ended tasks into the archive",
       {kDir},
       {{"--keep-bytes", "N", "how much the archive keeps"}, {"--keep-days", "N", "how long"}}});
  all.push_back({"wal accept-loss",
                 group,
                 "leave damage, and let unknown ids be started again",
                 {kDir, {"WHY", "why, for the log"}},
                 {}});
  all.push_back({"restore",
                 group,
                 "copy a backup, checked before and after, into the empty directory of a daemon",
                 {{"BACKUP", "what `backup` made", Fill::file},
                  {"DATA", "directory for serve --data: empty, or not there", Fill::file}},
                 {}});
  all.push_back({"task list", group, "every task and how it stands", {kDir}, {}});
  all.push_back({"task show", group, "the records of one task", {kDir, id}, {}});
  all.push_back({"task inspect", group, "what it would do next (needs its code)", {kDir, id}, {}});
  all.push_back({"task replay",
                 group,
                 "does the code do what the log says? (needs its code)",
                 {kDir, id},
                 {}});
  const CliWord why{"WHY", "why, for the log", Fill::nothing, Count::maybe};
  all.push_back({"task pause", group, "it is not resumed at the next start", {kDir, id}, {}});
  all.push_back({"task resume", group, "it goes on at the next start", {kDir, id}, {}});
  all.push_back({"task cancel", group, "it unwinds when it is resumed", {kDir, id, why}, {}});
  all.push_back({"task kill", group, "it has ended", {kDir, id, why}, {}});
  all.push_back({"task retry",
                 group,
                 "forget its failure, and everything from a step on",
                 {kDir, id, kFromStep},
                 {}});
  all.push_back({"task fork",
                 group,
                 "another task with its history up to a step",
                 {kDir, id, kFromStep},
                 {}});
  all.push_back({"task signal",
                 group,
                 "send a value",
                 {kDir, id, {"NAME", "of the signal"}, {"JSON", "the value"}},
                 {}});
  all.push_back({"task complete",
                 group,
                 "keep a promise",
                 {kDir, {"PROMISE", "id of the promise"}, {"JSON", "the value"}},
                 {}});
  all.push_back(
      {"check",
       group,
       "replay every task of a log; ends with 10 when one does not do what it says",
       {{"DIR", "directories of logs, such as `wal export` makes", Fill::file, Count::some}},
       {{"--script", "FILE", "and what agents decide with replies from a file"},
        {"--models", "FILE", "or with models, as the setting agents names them"},
        {"--model", "NAME", "which of them; without it the first"},
        {"--prompt", "FILE", "what the model is told first"}},
       verb::check});
  all.push_back({"upgrade",
                 group,
                 "inspect everything unfinished (needs the code)",
                 {kDir},
                 {{"--check", "", "nothing is changed"}}});
}

void add_program(std::vector<Verb>& all) {
  const std::string group = "This program";
  all.push_back({"version",
                 group,
                 "versions of the program and of the daemon",
                 {},
                 {{"--client", "", "only that of the program"}},
                 verb::version});
  all.push_back({"completion",
                 group,
                 "a script that completes words in a shell",
                 {{"SHELL", "bash, zsh or fish"}},
                 {}});
  all.push_back({"man", group, "the manual page, as roff: man -l <(... man)", {}, {}});
  all.push_back({"help",
                 group,
                 "this text, or that of a command",
                 {{"COMMAND", "a command", Fill::verb, Count::any}},
                 {}});
  all.push_back({"__complete",
                 group,
                 "words that may come next",
                 {{"WORD", "the words so far", Fill::nothing, Count::any}},
                 {},
                 complete_words,
                 true});
  all.push_back(
      {"__reference", group, "the table of commands for the documentation", {}, {}, nullptr, true});
}

}  // namespace

void add_daemon_verbs(std::vector<Verb>& all) {
  add_daemon(all);
  add_closed_logs(all);
  add_program(all);
}

std::span<const CliOption> global_options() {
  static const std::vector<CliOption> kAll{
      {"--socket", "PATH", "unix socket of the daemon (TIFFANY_SOCKET)"},
      {"--host", "URL", "or its address: http://127.0.0.1:7070, https://name:port"},
      {"--token-file", "FILE", "file with the token for --host (or TIFFANY_TOKEN)"},
      {"--ca", "FILE", "certificates (PEM) that https:// is checked against, besides the system's"},
      {"-o,--output",
       "FORMAT",
       "table, wide, json, jsonl or name",
       {"table", "wide", "json", "jsonl", "name"}},
      {"--no-headers", "", "tables without names of columns"},
      {"--color", "WHEN", "auto, always or never", {"auto", "always", "never"}},
      {"--time", "HOW", "human (ages, times of day) or iso", {"human", "iso"}},
      {"--utc", "", "times of day in UTC"},
      {"-q,--quiet", "", "only data: no remarks on standard error"},
      {"-y,--yes", "", "do not ask before what cannot be undone"},
  };
  return kAll;
}

}  // namespace tiffany::app

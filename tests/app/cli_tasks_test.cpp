// The command line as an operator uses it, on a daemon that runs.
#include <algorithm>
#include <thread>

#include "app/cli_runner.hpp"

namespace tiffany::daemon_tests {
namespace cli_tasks_test {

class CliTasks : public DepotTest {};

TEST_F(CliTasks, ATaskIsStartedWatchedApprovedAndItsResultPrinted) {
  const std::string id = waiting("a7");
  const CliSaid shown = depot("show --utc " + id.substr(0, 8));
  EXPECT_EQ(shown.status, 0);
  EXPECT_EQ(without_ids(shown.out),
            "task        <id>\n"
            "type        order 1\n"
            "status      running\n"
            "began       <time>\n"
            "waits for   promise approval#1  <id>  at depot.cpp:35\n");
  EXPECT_NE(shown.err.find("approve " + id.substr(0, 8)), std::string::npos) << shown.err;
  const CliSaid approved = depot("approve " + id.substr(0, 8) + " -m 'looks fine'");
  EXPECT_EQ(approved.status, 0) << approved.err;
  EXPECT_EQ(approved.out, id + "  approve approval#1\n");
  const CliSaid watched = depot("watch " + id);
  EXPECT_EQ(watched.status, 0) << watched.err;
  EXPECT_EQ(without_ids(watched.out),
            "<clock>  started    order [{\"id\":\"a7\",\"amount\":5000}]\n"
            "<clock>  step       charge#1 = \"payment-a7\"\n"
            "<clock>  asks       promise approval#1\n"
            "<clock>  decided    approval#1 = true\n"
            "<clock>  completed  \"order a7 paid by payment-a7\"\n");
  const CliSaid result = depot("result " + id);
  EXPECT_EQ(result.out, "\"order a7 paid by payment-a7\"\n");
  EXPECT_EQ(depot("logs " + id).out, watched.out);
}

TEST_F(CliTasks, ArgumentsAreGivenInTheirOrderByNameOrAsJson) {
  const char* const same[] = {"greet ann 2", "greet who=ann times=2", "greet '\"ann\"' 2",
                              "greet --arguments '[\"ann\",2]'",
                              "greet --arguments '{\"who\":\"ann\",\"times\":2}'"};
  for (const char* each : same) {
    const CliSaid said = depot(std::string("start --wait ") + each);
    EXPECT_EQ(said.status, 0) << each << said.err;
    EXPECT_NE(said.out.find("\"hello ann hello ann \""), std::string::npos) << said.out;
  }
  // A text that looks like a number is a text where a text is wanted.
  EXPECT_NE(depot("start --wait greet 42 1").out.find("hello 42"), std::string::npos);
  EXPECT_EQ(depot("start greet who=ann 2").status, 2);
  EXPECT_EQ(depot("start greet ann").status, 2);
  EXPECT_EQ(depot("start greet ann two").status, 2);
  EXPECT_EQ(depot("start greet --arguments '[\"ann\",2]' ann").status, 2);
}

TEST_F(CliTasks, WhatAnInterceptorOfTheAppRefusesIsRefusedWithItsSentence) {
  const CliSaid said = depot("start greet mallory 1");
  EXPECT_NE(said.status, 0) << said.out;
  EXPECT_NE(said.err.find("Mallory is not served here."), std::string::npos) << said.err;
  EXPECT_EQ(depot("start --wait greet ann 1").status, 0);
}

TEST_F(CliTasks, TheSameIdIsTheSameTask) {
  const std::string id = started("greet ann 1 --id 'order 17'");
  EXPECT_EQ(started("greet ann 1 --id 'order 17'"), id);
  const CliSaid other = depot("start greet bob 1 --id 'order 17'");
  EXPECT_EQ(other.status, 1);
  EXPECT_NE(other.err.find("depot: "), std::string::npos) << other.err;
}

TEST_F(CliTasks, PsListsWhatHasNotEndedInEveryFormat) {
  const std::string id = started("naps --key k1 --attribute customer=Ada --attribute n=3");
  const CliSaid table = depot("ps --type naps --time iso");
  EXPECT_EQ(table.status, 0);
  EXPECT_EQ(without_ids(table.out),
            "TASK                                  STATUS   TYPE  AGE                          "
            "DETAIL\n"
            "<id>  running  naps  <time>\n");
  EXPECT_EQ(depot("ps --type naps --no-headers --time iso").out.find("TASK"), std::string::npos);
  EXPECT_EQ(depot("ps --attribute customer:Ada -o name").out, id + "\n");
  EXPECT_EQ(depot("ps --key k1 -o name").out, id + "\n");
  EXPECT_EQ(depot("ps --status paused -o name").out, "");
  ASSERT_TRUE(shows("show " + id, "timer")) << "nothing is written from here on";
  const CliSaid lines = depot("ps --key k1 -o jsonl");
  EXPECT_EQ(without_ids(lines.out),
            "{\"id\":\"<id>\",\"type\":\"naps\",\"version\":1,\"status\":\"running\","
            "\"began\":\"<time>\",\"records\":2,\"key\":\"k1\",\"attributes\":{\"customer\":"
            "\"Ada\",\"n\":3}}\n");
  EXPECT_EQ(depot("ps --key k1 -o json").out,
            "[" + lines.out.substr(0, lines.out.size() - 1) + "]\n");
  const CliSaid wide = depot("ps --key k1 -o wide");
  EXPECT_NE(wide.out.find("k1"), std::string::npos) << wide.out;
  EXPECT_NE(wide.out.find("\"customer\":\"Ada\""), std::string::npos) << wide.out;
  EXPECT_EQ(depot("kill -y " + id).out, id + "  kill\n");
  EXPECT_EQ(depot("ps --key k1 -o name").out, "");
  EXPECT_EQ(depot("ps -a --key k1 -o name").out, id + "\n");
}

TEST_F(CliTasks, ATaskIsPausedResumedCancelledAndItsEndIsTheStatusOfTheCommand) {
  const std::string id = started("naps");
  const std::string brief = id.substr(0, 13);
  EXPECT_EQ(depot("pause " + brief + " -m 'the bank is closed'").out, id + "  pause\n");
  EXPECT_NE(depot("show " + brief).out.find("paused"), std::string::npos);
  EXPECT_EQ(depot("result " + brief).status, 5) << "it has none yet";
  EXPECT_EQ(depot("resume " + brief).out, id + "  resume\n");
  EXPECT_EQ(depot("cancel " + brief + " -m enough").status, 0);
  const CliSaid ended = depot("result --wait " + brief);
  EXPECT_EQ(ended.status, 8) << ended.err;
  EXPECT_NE(ended.err.find("cancelled"), std::string::npos) << ended.err;
  const CliSaid failed = depot("start --wait fails 'no paper'");
  EXPECT_EQ(failed.status, 1);
  EXPECT_NE(failed.err.find("no paper"), std::string::npos) << failed.err;
  // One that is wrong does not keep the others, and the highest status counts.
  const std::string other = started("naps");
  const CliSaid both = depot("cancel 00000000-0000-0000-0000-000000000009 " + other);
  EXPECT_EQ(both.status, 4);
  EXPECT_EQ(both.out, other + "  cancel\n");
}

TEST_F(CliTasks, SignalsAndQueriesReachTheCode) {
  const std::string id = started("listens");
  EXPECT_EQ(depot("signal " + id + " word '\"thanks\"'").out, id + "  signal\n");
  EXPECT_EQ(depot("result --wait " + id).out, "\"thanks\"\n");
  EXPECT_EQ(depot("signal " + id + " word thanks").status, 2) << "no JSON";
  const std::string waits = waiting("q1");
  EXPECT_EQ(depot("query " + waits + " stage").out, "\"waiting for approval\"\n");
  EXPECT_NE(depot("query " + waits + " mood").status, 0);
}

TEST_F(CliTasks, ARejectedTaskEndsAsItsCodeSaysOrWithSeven) {
  const std::string polite = waiting("r1");
  EXPECT_EQ(depot("reject " + polite).status, 0);
  EXPECT_EQ(depot("result --wait " + polite).out, "\"order r1 was not approved\"\n");
  const std::string hard = waiting("r2");
  EXPECT_EQ(depot("reject " + hard + " --error 'too dear'").status, 0);
  const CliSaid ended = depot("result --wait " + hard);
  EXPECT_EQ(ended.status, 7) << ended.err;
  EXPECT_NE(ended.err.find("rejected: too dear"), std::string::npos) << ended.err;
  EXPECT_EQ(depot("approve " + hard).status, 4) << "nothing waits any more";
}

TEST_F(CliTasks, WhichPromiseIsMeantIsAskedOrSaid) {
  const std::string id = started("two");
  ASSERT_TRUE(shows("promises", "seller#1"));
  const CliSaid unclear = depot("approve " + id);
  EXPECT_EQ(unclear.status, 6);
  EXPECT_NE(unclear.err.find("buyer#1 of two " + id), std::string::npos) << unclear.err;
  EXPECT_NE(unclear.err.find("--promise NAME"), std::string::npos) << unclear.err;
  EXPECT_TRUE(shows("ps", "asks buyer#1, seller#1")) << "ps says that somebody has to decide";
  const CliSaid listed = depot("promises --no-headers");
  EXPECT_NE(listed.out.find(id + "  two"), std::string::npos) << listed.out;
  EXPECT_EQ(depot("approve " + id + " --promise buyer").out, id + "  approve buyer#1\n");
  const std::string shown = depot("show -o json " + id).out;
  const std::string promise = member_of(shown.substr(shown.find("seller#1")), "id");
  EXPECT_NE(depot("promises -o jsonl").out.find(promise), std::string::npos);
  EXPECT_EQ(depot("complete " + promise + " true").out, promise + "  complete\n");
  EXPECT_EQ(depot("result --wait " + id).out, "\"deal\"\n");
}

TEST_F(CliTasks, WaitingWithoutATerminalEndsWithSixWhenAPersonHasToDecide) {
  const CliSaid said = depot("start --wait order '{\"id\":\"w1\",\"amount\":5000}'");
  EXPECT_EQ(said.status, 6);
  EXPECT_NE(said.err.find("approve"), std::string::npos) << said.err;
  const std::string id = said.out.substr(0, 36);
  const CliSaid late = depot("result --wait --through-approvals --timeout 50ms " + id);
  EXPECT_EQ(late.status, 5) << late.err;
  EXPECT_NE(late.err.find("it goes on"), std::string::npos) << late.err;
  EXPECT_EQ(depot("cancel " + id).status, 0);
  const CliSaid watched = depot("start --watch order '{\"id\":\"w2\",\"amount\":5000}'");
  EXPECT_EQ(watched.status, 6) << watched.out;
  const std::string other = watched.out.substr(0, 36);
  EXPECT_EQ(depot("watch --timeout 50ms " + other).status, 5) << "whoever only looks goes on";
  EXPECT_EQ(depot("cancel " + other).status, 0);
}

TEST_F(CliTasks, TheTreeHasChildrenBelowTheirParents) {
  const std::string id = started("parent");
  ASSERT_TRUE(shows("tree --ascii " + id, "`-- timer"));
  const std::string tree = depot("tree --ascii " + id).out;
  const std::string child = tree.substr(tree.find("`-- ") + 4, 36);
  EXPECT_EQ(
      std::regex_replace(tree, std::regex("  [0-9]+s\n|:[0-9]+\n"), "\n"),
      id + " parent  running\n`-- " + child + " naps  running\n    `-- timer timer#1  depot.cpp\n");
  EXPECT_EQ(depot("cancel " + id).status, 0);
}

TEST_F(CliTasks, HistoryIsInspectedReplayedRetriedAndForked) {
  const std::string id = started("fails 'no ink'");
  EXPECT_EQ(depot("result --wait " + id).status, 1);
  const CliSaid replayed = depot("replay " + id);
  EXPECT_EQ(replayed.status, 0) << replayed.err;
  EXPECT_NE(replayed.out.find("agrees      yes"), std::string::npos) << replayed.out;
  EXPECT_EQ(depot("inspect " + id).status, 0);
  EXPECT_EQ(depot("retry " + id + " break#1").out, id + "  retry\n");
  const std::string done = started("greet ann 1");
  EXPECT_EQ(depot("result --wait " + done).status, 0);
  const CliSaid forked = depot("fork " + done + " greet#1");
  EXPECT_EQ(forked.status, 0) << forked.err;
  EXPECT_NE(forked.out.substr(0, 36), done);
  EXPECT_EQ(depot("fork " + done + " dance#1").status, 4) << "no such step";
  EXPECT_EQ(depot("show " + forked.out.substr(0, 36)).status, 0);
}

TEST_F(CliTasks, ABeginningOfAnIdMustBeUniqueAndLongEnough) {
  for (const char* each : {"show", "watch", "result", "logs", "inspect", "cancel", "tree"}) {
    const CliSaid said = depot(std::string(each) + " zzzzzzzz");
    EXPECT_EQ(said.status, 4) << each << said.err;
    EXPECT_TRUE(said.err.starts_with("depot: No task")) << said.err;
    EXPECT_EQ(said.out, "");
  }
  const std::string one = started("naps --id aaaaaaaa-0000-4000-8000-000000000001");
  const std::string other = started("naps --id aaaaaaaa-0000-4000-8000-000000000002");
  const CliSaid said = depot("show aaaaaaaa");
  EXPECT_EQ(said.status, 4) << said.err;
  EXPECT_NE(said.err.find("Several tasks"), std::string::npos) << said.err;
  EXPECT_EQ(depot("cancel " + one + " " + other).status, 0);
}

TEST_F(CliTasks, TypesAreListedWithTheirArguments) {
  const CliSaid said = depot("types");
  EXPECT_NE(said.out.find("greet    who: string, times: integer"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("query stage"), std::string::npos) << said.out;
  EXPECT_EQ(depot("start dance").status, 4);
}

TEST_F(CliTasks, TextOfTasksMovesNoCursorAndBeginsNoLine) {
  const std::string id = started("greet \"$(printf '\\033[31mred\\nforged line')\" 1");
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  for (const char* each : {"show", "result", "watch", "logs", "logs -o jsonl", "show -o json"}) {
    const CliSaid said = depot(std::string(each) + " " + id);
    EXPECT_EQ(said.out.find('\x1b'), std::string::npos) << each;
    EXPECT_EQ(said.out.find("\nforged"), std::string::npos) << each;
  }
}

TEST_F(CliTasks, ATaskThatFailsByAMistakeOfItsCodeEndsWithNine) {
  const std::string id = started("errs");
  const CliSaid said = depot("result --wait " + id);
  EXPECT_EQ(said.status, 9) << said.out << said.err;
  EXPECT_NE(said.err.find("there is no seventh"), std::string::npos) << said.err;
  EXPECT_EQ(depot("result " + id).status, 9);
  EXPECT_EQ(depot("watch " + id).status, 9);
  const std::string other = started("fails soon");
  EXPECT_EQ(depot("result --wait " + other).status, 1) << "what a step says is no mistake";
}

TEST_F(CliTasks, AnUpdateChangesATaskAndPrintsItsAnswer) {
  const std::string id = started("counter");
  ASSERT_TRUE(eventually([&] { return depot("update " + id + " add 0").status == 0; }));
  EXPECT_EQ(depot("update " + id + " add 3").out, "3\n");
  EXPECT_EQ(depot("update " + id + " add 4 --id once").out, "7\n");
  EXPECT_EQ(depot("update " + id + " add 4 --id once").out, "7\n") << "the same update";
  const CliSaid json = depot("update " + id + " add 1 -o json");
  EXPECT_NE(json.out.find("\"answer\":8"), std::string::npos) << json.out;
  const CliSaid refused = depot("update " + id + " add -- -1");
  EXPECT_EQ(refused.status, 2) << refused.out;
  EXPECT_NE(refused.err.find("Nothing is taken back."), std::string::npos) << refused.err;
  const CliSaid failed = depot("update " + id + " add 13");
  EXPECT_NE(failed.status, 0);
  EXPECT_NE(failed.err.find("Not thirteen."), std::string::npos) << failed.err;
  EXPECT_EQ(depot("update " + id + " dance 1").status, 4);
  EXPECT_EQ(depot("update " + id + " add '{'").status, 2);
  EXPECT_EQ(depot("signal " + id + " word '\"enough\"'").status, 0);
  EXPECT_EQ(depot("result --wait " + id).out, "8\n");
  EXPECT_EQ(depot("update " + id + " add 4 --id once").out, "7\n") << "also after its end";
}

TEST_F(CliTasks, LogsCanBeFollowedUntilTheTaskHasEnded) {
  const std::string id = started("listens");
  const TempDirectory scratch;
  Followed said(scratch.path() + "/said");
  std::thread follower([&] {
    EXPECT_EQ(
        run_shell(words("logs -f --type Resumed " + id) + " >" + scratch.path() + "/said").status,
        0);
  });
  EXPECT_EQ(depot("signal " + id + " word '\"go\"'").status, 0);
  follower.join();
  EXPECT_TRUE(said.has("came")) << said.all();
  EXPECT_EQ(said.all().find("started"), std::string::npos) << "only records of that type";
}

TEST_F(CliTasks, JsonIsOneTextAndNumbersAreNumbers) {
  const std::string id = waiting("json1");
  for (const char* const words : {"tree", "logs"}) {
    const CliSaid said = depot(std::string(words) + " -o json " + id);
    EXPECT_TRUE(said.out.starts_with("[{")) << said.out;
    EXPECT_TRUE(said.out.ends_with("}]\n")) << said.out;
  }
  EXPECT_TRUE(depot("logs -o jsonl " + id).out.starts_with("{\"v\":1"));
  const std::string ended = depot("start greet ann 1 --wait -o json").out;
  EXPECT_EQ(std::ranges::count(ended, '\n'), 1) << ended;
  for (const char* const words : {"ps --limit few", "ps --limit 0", "top -b -n x", "audit -n -1"}) {
    const CliSaid said = depot(words);
    EXPECT_EQ(said.status, 2) << words;
    EXPECT_NE(said.err.find("say a number from 1 on."), std::string::npos) << said.err;
  }
}

TEST_F(CliTasks, ATaskThatWaitsForASignalSaysSoUntilItHasCome) {
  const std::string id = started("counter");
  EXPECT_TRUE(shows("show " + id, "waits for   signal word#1")) << depot("show " + id).out;
  EXPECT_EQ(depot("update " + id + " add 2").out, "2\n");
  EXPECT_TRUE(shows("tree " + id, "signal word#1")) << "an update does not end the wait";
  EXPECT_EQ(depot("signal " + id + " word '\"x\"'").status, 0);
  EXPECT_EQ(depot("result --wait " + id).out, "2\n");
  EXPECT_EQ(depot("show " + id).out.find("waits for"), std::string::npos);
}

TEST_F(CliTasks, SentencesAreForPeople) {
  const std::string id = started("greet ann 1");
  EXPECT_EQ(depot("result --wait " + id).status, 0);
  EXPECT_EQ(depot("signal " + id + " word 1").err, "depot: Task " + id + " is completed.\n");
  const CliSaid few = depot("start greet ann");
  EXPECT_NE(few.err.find("takes, who: string, times: integer: The JSON"), std::string::npos)
      << few.err;
  const std::string nap = started("naps");
  EXPECT_EQ(depot("cancel -m enough " + nap).status, 0);
  EXPECT_EQ(depot("result --wait " + nap).err, "depot: Task " + nap + " was cancelled: enough\n");
  EXPECT_NE(depot("logs " + nap).out.find("came       cancel: enough\n"), std::string::npos);
  EXPECT_EQ(depot("dance").err,
            "depot: There is no command \"dance\". `depot help` says what there is.\n");
  EXPECT_EQ(depot("ps --dance").err,
            "depot: There is no option --dance of \"ps\". `depot help ps` says what there is.\n");
  EXPECT_NE(depot("inspect " + waiting("look1")).out.find("status      running\n"),
            std::string::npos);
  const std::string audit = depot("audit -n 1 --no-headers").out;
  EXPECT_TRUE(std::regex_search(audit, std::regex("^[0-9]{4}-[0-9]{2}-[0-9]{2} "))) << audit;
}

}  // namespace cli_tasks_test
}  // namespace tiffany::daemon_tests

// Commands about the daemon, and daemons that are absent, dying or in trouble.
#include <csignal>
#include <thread>

#include "app/cli_runner.hpp"

namespace tiffany::daemon_tests {
namespace cli_daemon_test {

class CliDaemon : public DepotTest {};

TEST_F(CliDaemon, SchedulesAreMadeShownToldAndRemoved) {
  EXPECT_EQ(depot("schedule create nightly naps --cron '0 3 * * *' --zone Europe/Berlin").out,
            "nightly\n");
  EXPECT_EQ(depot("schedule create often greet ann 2 --every 1h").status, 0);
  EXPECT_EQ(depot("schedule create x naps").status, 2) << "neither --cron nor --every";
  EXPECT_EQ(depot("schedule create x naps --every 1h --overlap dance").status, 2);
  EXPECT_EQ(depot("schedule create x dance --every 1h").status, 4);
  EXPECT_EQ(depot("schedule ls -o name").out, "nightly\noften\n");
  EXPECT_EQ(depot("schedule pause nightly").out, "nightly  pause\n");
  EXPECT_NE(depot("schedule show nightly").out.find("state       paused"), std::string::npos);
  EXPECT_EQ(depot("schedule resume nightly").status, 0);
  EXPECT_EQ(depot("schedule run often").out, "often  run\n");
  const CliSaid listed = depot("schedule ls --no-headers");
  EXPECT_NE(listed.out.find("nightly  active"), std::string::npos) << listed.out;
  EXPECT_EQ(depot("schedule rm nightly").out, "nightly  rm\n");
  EXPECT_EQ(depot("schedule show nightly").status, 4);
  EXPECT_NE(depot("schedule ls -o json").out.find("\"schedules\":["), std::string::npos);
}

TEST_F(CliDaemon, TokensAreMadeUsedAndRemoved) {
  const CliSaid made = depot("tokens create ada --role viewer");
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_TRUE(made.out.starts_with("tif_")) << made.out;
  EXPECT_NE(made.err.find("this once"), std::string::npos);
  const std::string file = directory_->path() + "/ada.token";
  std::ofstream(file) << made.out;
  const std::string at =
      std::string(DEPOT) + " --host http://127.0.0.1:" + std::to_string(daemon_->port()) + " ";
  EXPECT_EQ(run_shell(at + "--token-file " + file + " ps").status, 0);
  EXPECT_EQ(run_shell("TIFFANY_TOKEN=" + made.out.substr(0, made.out.size() - 1) + " " + at + "ps")
                .status,
            0);
  const CliSaid nobody = run_shell(at + "ps");
  EXPECT_EQ(nobody.status, 1);
  EXPECT_NE(nobody.err.find("Say who you are"), std::string::npos) << nobody.err;
  const CliSaid viewer = run_shell(at + "--token-file " + file + " start naps");
  EXPECT_EQ(viewer.status, 1);
  EXPECT_NE(viewer.err.find("this needs operator"), std::string::npos) << viewer.err;
  EXPECT_EQ(run_shell(at + "--token-file /nowhere ps").status, 2);
  EXPECT_NE(depot("tokens ls").out.find("ada    viewer"), std::string::npos);
  EXPECT_EQ(depot("tokens rm ada").out, "ada  rm\n");
  EXPECT_EQ(run_shell(at + "--token-file " + file + " ps").status, 1);
  EXPECT_EQ(depot("tokens rm ada").status, 4);
}

TEST_F(CliDaemon, TheDaemonSaysHowItIs) {
  EXPECT_NE(depot("metrics --grep tiffany_tasks").out.find("# TYPE tiffany_tasks"),
            std::string::npos);
  // Frames of a build without optimisation may be lints: 0 all the same, which is no deadlock.
  EXPECT_EQ(depot("problems").status, 0);
  EXPECT_NE(depot("problems -o json").out.find("\"problems\":["), std::string::npos);
  EXPECT_EQ(depot("problems -q").err, "");
  EXPECT_NE(depot("dump").out.find("api on the unix socket"), std::string::npos);
  EXPECT_EQ(depot("dump -o json").out.front(), '{');
  EXPECT_EQ(depot("levels info,serve=debug").out, "levels  info,serve=debug\n");
  EXPECT_EQ(depot("levels loud").status, 2);
  const CliSaid audit = depot("audit -n 2 --no-headers");
  EXPECT_NE(audit.out.find("POST /levels"), std::string::npos) << audit.out;
  EXPECT_NE(depot("compact").out.find("tasks went into the archive"), std::string::npos);
  const CliSaid version = depot("version");
  EXPECT_TRUE(version.out.starts_with("depot 1.2.3\ndaemon: depot 1.2.3, ready, pid "))
      << version.out;
  EXPECT_EQ(depot("version --client").out, "depot 1.2.3\n");
  const CliSaid top = depot("top -b -n 2 -d 50ms");
  EXPECT_EQ(top.status, 0) << top.err;
  EXPECT_TRUE(top.out.starts_with("depot 1.2.3  ready  up ")) << top.out;
  EXPECT_NE(top.out.find("  approvals 0  problems "), std::string::npos) << top.out;
}

TEST_F(CliDaemon, TheDoctorLooksAtEverything) {
  const CliSaid said = depot("doctor");
  for (const char* each :
       {"daemon      ok    ready", "version     ok", "you         ok", "recovery    ok",
        "tasks       ok", "disk        ", "sync        ", "sandbox     ok    ", "problems    "}) {
    EXPECT_NE(said.out.find(each), std::string::npos) << each << "\n" << said.out;
  }
  EXPECT_EQ(said.status, 0) << "large frames, of a build without optimisation, are no trouble\n"
                            << said.out;
  const CliSaid json = depot("doctor -o json");
  EXPECT_TRUE(json.out.starts_with("[{\"check\":\"daemon\",\"ok\":true,")) << json.out;
}

TEST_F(CliDaemon, WhatIsNotUnderstoodIsRefusedWithASentence) {
  const char* const wrong[] = {"dance",
                               "ps --dance",
                               "show",
                               "ps -o xml",
                               "ps extra",
                               "schedule",
                               "schedule fly",
                               "--host ftp://x ps",
                               "--color blue ps",
                               "ps -n 0",
                               "completion csh",
                               "help dance",
                               "-q"};
  for (const char* each : wrong) {
    const CliSaid said = depot(each);
    EXPECT_EQ(said.status, 2) << each << said.out;
    EXPECT_TRUE(said.err.starts_with("depot: ")) << each << said.err;
    EXPECT_EQ(said.out, "") << each;
  }
  const CliSaid empty = run_shell(DEPOT);
  EXPECT_EQ(empty.status, 2);
  EXPECT_TRUE(empty.out.starts_with("usage: depot "));
  EXPECT_EQ(run_shell(std::string(DEPOT) + " help").status, 0);
  EXPECT_TRUE(run_shell(std::string(DEPOT) + " schedule create --help")
                  .out.starts_with("usage: depot schedule create [options] NAME TYPE"));
  EXPECT_EQ(run_shell(std::string(DEPOT) + " help ps").out,
            run_shell(std::string(DEPOT) + " ps -h").out);
}

TEST_F(CliDaemon, AnAbsentDaemonIsSaidByEveryCommandThatNeedsOne) {
  const std::string nowhere = std::string(DEPOT) + " --socket /nowhere/x.sock ";
  for (const char* each : {"ps",           "start naps",  "show abcd",
                           "watch abcd",   "logs abcd",   "result --wait abcd",
                           "tree",         "types",       "top -b",
                           "approve abcd", "promises",    "cancel abcd",
                           "kill -y abcd", "schedule ls", "metrics",
                           "problems",     "dump",        "audit",
                           "tokens ls",    "doctor",      "compact",
                           "shutdown"}) {
    const CliSaid said = run_shell(nowhere + each);
    EXPECT_EQ(said.status, 3) << each << said.err;
    EXPECT_NE((said.err + said.out).find("No daemon answers at unix:/nowhere/x.sock"),
              std::string::npos)
        << each << said.err;
  }
  EXPECT_EQ(run_shell("TIFFANY_SOCKET=/nowhere/y.sock " + std::string(DEPOT) + " ps").status, 3);
  EXPECT_EQ(run_shell(std::string(DEPOT) + " --host http://127.0.0.1:1 ps").status, 3);
  const CliSaid version = run_shell(nowhere + "version");
  EXPECT_EQ(version.status, 0) << "the program itself has one";
  EXPECT_EQ(version.out, "depot 1.2.3\n");
}

TEST_F(CliDaemon, AReaderThatGoesEndsACommandQuietly) {
  const CliSaid said = run_shell(words("metrics") + " | head -1");
  EXPECT_EQ(said.err, "");
  EXPECT_EQ(said.status, 0);
  EXPECT_EQ(run_shell(words("ps") + " >/dev/full").status, 1);
}

TEST_F(CliDaemon, CompletionOffersCommandsOptionsAndLiveIds) {
  const std::string id = started("naps");
  EXPECT_EQ(depot("__complete -- sched").out, "schedule\n");
  EXPECT_NE(depot("__complete -- schedule ''").out.find("create\tstart tasks by the time\n"),
            std::string::npos);
  EXPECT_EQ(depot("__complete -- ps --sta").out, "--status\tonly these\n");
  EXPECT_EQ(depot("__complete -- ps --status pa").out, "paused\n");
  EXPECT_EQ(depot("__complete -- wal verify ''").out, ":file\n");
  // Where the daemon is stands among the words, as in a shell.
  const std::string socket = "--socket " + directory_->path() + "/tiffany.sock ";
  const auto complete = [&](const std::string& more) {
    return run_shell(std::string(DEPOT) + " __complete -- " + socket + more).out;
  };
  EXPECT_NE(complete("show " + id.substr(0, 4)).find(id + "\tnaps, running\n"), std::string::npos);
  EXPECT_EQ(complete("start gr"), "greet\n");
  EXPECT_EQ(complete("start greet ''"), "") << "an argument is not completed";
  const CliSaid absent = run_shell(std::string(DEPOT) + " __complete -- --socket /nowhere show ''");
  EXPECT_EQ(absent.status, 0);
  EXPECT_EQ(absent.out + absent.err, "");
  EXPECT_EQ(depot("cancel " + id).status, 0);
}

TEST_F(CliDaemon, CompletionWorksInARealBash) {
  const std::string id = started("naps");
  const std::string directory = std::filesystem::path(DEPOT).parent_path();
  const CliSaid said = run_shell(
      "bash --norc -c 'PATH=" + directory + ":$PATH; eval \"$(depot completion bash)\"; " +
      "COMP_WORDS=(depot --socket " + directory_->path() + "/tiffany.sock show " + id.substr(0, 6) +
      "); COMP_CWORD=4; _depot_complete; echo \"${COMPREPLY[@]}\"'");
  EXPECT_EQ(said.out, id + "\n") << said.err;
  EXPECT_EQ(depot("cancel " + id).status, 0);
}

TEST_F(CliDaemon, CompletionWorksInARealFish) {
  if (run_shell("command -v fish").status != 0) GTEST_SKIP() << "there is no fish";
  const std::string id = started("naps");
  const std::string directory = std::filesystem::path(DEPOT).parent_path();
  const CliSaid said =
      run_shell("PATH=" + directory + ":$PATH TIFFANY_SOCKET=" + directory_->path() +
                "/tiffany.sock HOME=" + directory_->path() +
                " fish --no-config -c 'depot completion fish | source; complete -C \"depot show " +
                id.substr(0, 6) + "\"'");
  EXPECT_EQ(said.out, id + "\tnaps, running\n") << said.err;
  EXPECT_EQ(depot("cancel " + id).status, 0);
}

TEST_F(CliDaemon, CompletionWorksInARealZsh) {
  if (run_shell("command -v zsh").status != 0) GTEST_SKIP() << "there is no zsh";
  const std::string id = started("naps");
  const std::string directory = std::filesystem::path(DEPOT).parent_path();
  const std::string script = directory_->path() + "/complete.zsh";
  // compadd works only while somebody types: what it would be given is printed.
  std::ofstream(script) << "autoload -Uz compinit; compinit -u -D\n"
                           "eval \"$(depot completion zsh)\"\n"
                           "compadd() { while [[ $1 != -a ]]; do shift; done; print -l ${(P)2} }\n"
                           "words=(depot show $1); CURRENT=3; _depot\n";
  const CliSaid said =
      run_shell("PATH=" + directory + ":$PATH TIFFANY_SOCKET=" + directory_->path() +
                "/tiffany.sock zsh -f " + script + " " + id.substr(0, 6));
  EXPECT_EQ(said.out, id + "\n") << said.err;
  EXPECT_EQ(depot("cancel " + id).status, 0);
}

// ---- Daemons of their own ----

class CliTrouble : public ::testing::Test {
 protected:
  std::string at(const std::string& arguments) const {
    return std::string(DEPOT) + " --socket " + directory_.path() + "/tiffany.sock " + arguments;
  }
  CliSaid depot(const std::string& arguments) const { return run_shell(at(arguments)); }
  TempDirectory directory_;
};

TEST_F(CliTrouble, AWatchSurvivesADaemonThatIsKilledAndComesBackAndShowsEachRecordOnce) {
  auto daemon =
      std::make_unique<DaemonProcess>(directory_.path(), std::vector<std::string>{}, DEPOT);
  ASSERT_TRUE(daemon->running()) << daemon->said();
  const CliSaid begun = depot("start order '{\"id\":\"k1\",\"amount\":5000}'");
  const std::string id = begun.out.substr(0, 36);
  const std::string log = directory_.path() + "/watch.txt";
  Followed said(log);
  Followed remarks(log + ".err");
  std::thread watching([&] {
    (void)run_shell(at("watch --through-approvals --utc " + id) + " >" + log + " 2>" + log +
                    ".err; echo $? >" + log + ".status");
  });
  EXPECT_TRUE(said.has("asks       promise approval#1")) << said.all();
  daemon->end(SIGKILL);
  EXPECT_TRUE(remarks.has("Lost the daemon")) << remarks.all();
  daemon = std::make_unique<DaemonProcess>(directory_.path(), std::vector<std::string>{}, DEPOT);
  ASSERT_TRUE(daemon->running()) << daemon->said();
  EXPECT_TRUE(remarks.has("The daemon is back.")) << remarks.all();
  EXPECT_EQ(depot("approve " + id).status, 0);
  watching.join();
  EXPECT_EQ(content_of_file(log + ".status"), "0\n");
  EXPECT_EQ(without_ids(said.all()),
            "<clock>  started    order [{\"id\":\"k1\",\"amount\":5000}]\n"
            "<clock>  step       charge#1 = \"payment-k1\"\n"
            "<clock>  asks       promise approval#1\n"
            "<clock>  decided    approval#1 = true\n"
            "<clock>  completed  \"order k1 paid by payment-k1\"\n");
  // One that does not come back.
  const CliSaid again = depot("start order '{\"id\":\"k2\",\"amount\":5000}'");
  Followed said_again(log + "2");
  std::thread lost([&] {
    (void)run_shell(at("watch --through-approvals --reconnect 100ms " + again.out.substr(0, 36)) +
                    " >" + log + "2 2>" + log + "2.err; echo $? >" + log + "2.status");
  });
  EXPECT_TRUE(said_again.has("asks")) << said_again.all();
  daemon->end(SIGKILL);
  lost.join();
  EXPECT_EQ(content_of_file(log + "2.status"), "3\n") << content_of_file(log + "2.err");
}

TEST_F(CliTrouble, CodeThatDiffersFromTheLogEndsWithTen) {
  std::string id;
  {
    DaemonProcess daemon(directory_.path(), {}, DEPOT);
    ASSERT_TRUE(daemon.running()) << daemon.said();
    id = depot("start order '{\"id\":\"d1\",\"amount\":5000}'").out.substr(0, 36);
    ASSERT_TRUE(eventually(
        [&] { return depot("show " + id).out.find("approval#1") != std::string::npos; }));
    EXPECT_EQ(depot("shutdown -m 'new version'").status, 0);
    EXPECT_EQ(daemon.wait(), 0) << daemon.said();
  }
  setenv("DEPOT_DIFFERS", "1", 1);
  DaemonProcess daemon(directory_.path(), {}, DEPOT);
  unsetenv("DEPOT_DIFFERS");
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const CliSaid replayed = depot("replay " + id);
  EXPECT_EQ(replayed.status, 10) << replayed.out << replayed.err;
  EXPECT_NE(replayed.out.find("agrees      no"), std::string::npos) << replayed.out;
  EXPECT_EQ(depot("result --wait " + id).status, 10);
  const CliSaid doctor = depot("doctor");
  EXPECT_EQ(doctor.status, 1) << "a task that diverged needs somebody";
  EXPECT_NE(doctor.out.find("tasks       WRONG"), std::string::npos) << doctor.out;
}

TEST_F(CliTrouble, TasksThatWaitForOneAnotherEndProblemsAndTreeWithEleven) {
  setenv("DEPOT_CIRCLE", "1", 1);
  DaemonProcess daemon(directory_.path(), {}, DEPOT);
  unsetenv("DEPOT_CIRCLE");
  ASSERT_TRUE(daemon.running()) << daemon.said();
  ASSERT_TRUE(eventually([&] { return depot("problems").status == 11; }));
  const CliSaid said = depot("problems");
  EXPECT_NE(said.out.find("deadlock"), std::string::npos) << said.out;
  EXPECT_EQ(depot("tree").status, 11);
}

}  // namespace cli_daemon_test
}  // namespace tiffany::daemon_tests

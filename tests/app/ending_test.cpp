// The end of a daemon: with steps that do not end, and in the middle of a recovery.
#include <sys/stat.h>

#include <csignal>
#include <string>

#include "app/cli_runner.hpp"
#include "app/many_starts.hpp"

namespace tiffany::daemon_tests {
namespace ending_test {

std::string started(const DaemonProcess& daemon, const std::string& type) {
  const http::Response answer = post(daemon.socket(), "/tasks", R"({"type":")" + type + R"("})");
  EXPECT_EQ(answer.status, 201) << answer.body;
  return member_of(answer.body, "id");
}
std::string task_text(const DaemonProcess& daemon, const std::string& id) {
  return get(daemon.socket(), "/tasks/" + id).body;
}
bool is_at_step(const DaemonProcess& daemon, const std::string& id) {
  return eventually([&] { return task_text(daemon, id).find("stay") != std::string::npos; });
}
void expect_whole_log(const std::string& data) {
  const CliSaid verified = run_shell(std::string(DEPOT) + " wal verify " + data + "/wal");
  EXPECT_EQ(verified.status, 0) << verified.out << verified.err;
}

// The step begins anew at the next start.
void expect_goes_on(const std::string& data, const std::string& id) {
  expect_whole_log(data);
  DaemonProcess daemon(data, {}, DEPOT);
  ASSERT_TRUE(daemon.running()) << daemon.said();
  EXPECT_TRUE(is_at_step(daemon, id)) << task_text(daemon, id);
  EXPECT_EQ(daemon.end(SIGKILL), -SIGKILL);
}

TEST(Ending, ASecondSignalEndsADaemonWhoseStepsDoNotEnd) {
  const TempDirectory directory;
  std::string id;
  {
    DaemonProcess daemon(directory.path(), {"--drain", "1h"}, DEPOT);
    ASSERT_TRUE(daemon.running()) << daemon.said();
    id = started(daemon, "stays");
    ASSERT_TRUE(is_at_step(daemon, id)) << task_text(daemon, id);
    kill(daemon.pid(), SIGTERM);
    ASSERT_TRUE(daemon.says("the daemon ends")) << daemon.said();
    EXPECT_EQ(daemon.end(SIGTERM), 1) << daemon.said();
    EXPECT_NE(daemon.said().find("was not waited for"), std::string::npos) << daemon.said();
    EXPECT_NE(daemon.said().find("1 tasks go on at the next start"), std::string::npos)
        << daemon.said();
  }
  expect_goes_on(directory.path(), id);
}

TEST(Ending, WhileADaemonEndsOthersMayLookAndChangeNothing) {
  const TempDirectory directory;
  DaemonProcess daemon(directory.path(), {"--drain", "1h"}, DEPOT);
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const std::string id = started(daemon, "stays");
  ASSERT_TRUE(is_at_step(daemon, id)) << task_text(daemon, id);
  kill(daemon.pid(), SIGTERM);
  ASSERT_TRUE(daemon.says("the daemon ends")) << daemon.said();
  EXPECT_EQ(get(daemon.socket(), "/tasks/" + id).status, 200);
  EXPECT_EQ(get(daemon.socket(), "/tasks").status, 200);
  EXPECT_NE(get(daemon.socket(), "/info").body.find("\"draining\""), std::string::npos);
  EXPECT_EQ(post(daemon.socket(), "/tasks", R"({"type":"naps"})").status, 503);
  EXPECT_EQ(get(daemon.socket(), "/pal").status, 503) << "a stream that would end at once";
  const std::string words = std::string(DEPOT) + " --socket " + directory.path() + "/tiffany.sock ";
  EXPECT_EQ(run_shell(words + "ps").status, 0);
  const CliSaid refused = run_shell(words + "start naps");
  EXPECT_EQ(refused.status, 3);
  EXPECT_EQ(refused.err, "depot: The daemon is ending (SIGTERM).\n");
  EXPECT_EQ(daemon.end(SIGTERM), 1) << daemon.said();
}

TEST(Ending, ADaemonWhoseStepsDoNotEndEndsWhenItsTimeIsOver) {
  const TempDirectory directory;
  std::string id;
  {
    DaemonProcess daemon(directory.path(), {"--drain", "20ms"}, DEPOT);
    ASSERT_TRUE(daemon.running()) << daemon.said();
    id = started(daemon, "stays");
    ASSERT_TRUE(is_at_step(daemon, id)) << task_text(daemon, id);
    EXPECT_EQ(daemon.end(SIGTERM), 1) << daemon.said();
    EXPECT_NE(daemon.said().find("was not waited for"), std::string::npos) << daemon.said();
  }
  expect_goes_on(directory.path(), id);
}

// The code of the first task that is resumed is held until the signal has been sent. More tasks are
// behind it than are replayed at a time.
TEST(Ending, ASignalInTheMiddleOfARecoveryEndsTheDaemonInGoodOrder) {
  constexpr int kTasks = 600;
  const TempDirectory directory;
  const std::string data = directory.path() + "/data";
  {
    DaemonProcess daemon(data, {}, DEPOT);
    ASSERT_TRUE(daemon.running()) << daemon.said();
    ASSERT_EQ(start_many(data, kTasks, R"({"type":"naps"})").size(), std::size_t{kTasks});
    EXPECT_EQ(daemon.end(SIGTERM), 0) << daemon.said();
  }
  const std::string gate = directory.path() + "/gate";
  ASSERT_EQ(mkfifo(gate.c_str(), 0600), 0);
  setenv("DEPOT_GATE", gate.c_str(), 1);
  {
    DaemonProcess daemon(data, {}, DEPOT, true);
    unsetenv("DEPOT_GATE");
    const int fd = open(gate.c_str(), O_WRONLY | O_CLOEXEC);  // when the other end is open
    kill(daemon.pid(), SIGTERM);
    close(fd);
    EXPECT_EQ(daemon.wait(), 0) << daemon.said();
    EXPECT_NE(daemon.said().find("ended (SIGTERM)"), std::string::npos) << daemon.said();
    EXPECT_EQ(daemon.said().find("listens on"), std::string::npos) << daemon.said();
  }
  expect_whole_log(data);
  DaemonProcess daemon(data, {}, DEPOT);
  ASSERT_TRUE(daemon.running()) << daemon.said();
  EXPECT_NE(daemon.said().find("resumed " + std::to_string(kTasks)), std::string::npos)
      << daemon.said();
}

}  // namespace ending_test
}  // namespace tiffany::daemon_tests

// The daemon under its operators: signals of the process, systemd, an end with much to do, backups.
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <random>
#include <set>
#include <thread>

#include "app/cli_runner.hpp"
#include "app/many_starts.hpp"

namespace tiffany::daemon_tests {
namespace operations_test {

std::string at_socket(const std::string& data, const std::string& words) {
  return std::string(DEPOT) + " --socket " + data + "/tiffany.sock " + words;
}

int status_with(const DaemonProcess& daemon, const std::string& token) {
  http::Request request("GET", "/api/v1/info");
  request.headers.set("authorization", "Bearer " + token);
  return ask(daemon.tcp(), request).status;
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
}

TEST(Sighup, ReadsLevelsAndTokensAgainByTheSettingsOfTheStart) {
  const TempDirectory other;
  std::string token;
  std::string tokens;
  {
    DaemonProcess daemon(other.path(), {}, DEPOT);
    ASSERT_TRUE(daemon.running()) << daemon.said();
    token = daemon.token();
    tokens = daemon.file("tokens.json");
  }
  const TempDirectory directory;
  const std::string config = other.path() + "/depot.conf";
  write_text(config, "log = info\n");
  DaemonProcess daemon(directory.path(), {"--config", config}, DEPOT);
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const std::string own = daemon.token();
  const std::string own_tokens = daemon.file("tokens.json");
  EXPECT_EQ(status_with(daemon, own), 200);
  EXPECT_EQ(status_with(daemon, token), 401);

  write_text(directory.path() + "/tokens.json", tokens);
  kill(daemon.pid(), SIGHUP);
  EXPECT_TRUE(eventually([&] { return status_with(daemon, token) == 200; }));
  EXPECT_EQ(status_with(daemon, own), 401);

  // Levels come from the file of --config: the line about this reading is not written.
  write_text(config, "log = error\n");
  write_text(directory.path() + "/tokens.json", own_tokens);
  kill(daemon.pid(), SIGHUP);
  EXPECT_TRUE(eventually([&] { return status_with(daemon, own) == 200; }));

  // What cannot be read changes nothing.
  write_text(config, "log = info\n");
  write_text(directory.path() + "/tokens.json", "[{");
  kill(daemon.pid(), SIGHUP);
  kill(daemon.pid(), SIGTERM);
  EXPECT_EQ(daemon.wait(), 0);
  const std::string& said = daemon.said();
  const std::size_t first = said.find("levels and tokens were read again");
  ASSERT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("levels and tokens were read again", first + 1), std::string::npos) << said;
}

// ---- systemd ----

class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path)
      : fd_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path.c_str(), path.size());
    if (bind(fd_, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0) {
      throw std::runtime_error("no datagrams at " + path);
    }
  }
  ~NotifySocket() { close(fd_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  // The next datagram; empty when none comes for half a minute.
  std::string next() {
    pollfd readable{fd_, POLLIN, 0};
    if (poll(&readable, 1, 30'000) <= 0) return "";
    std::array<char, 4096> room;
    const ssize_t n = recv(fd_, room.data(), room.size(), 0);
    return std::string(room.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  }

 private:
  int fd_;
};

TEST(Systemd, IsToldOfTheStartOfBeingAliveAndOfTheEnd) {
  const TempDirectory directory;
  NotifySocket systemd(directory.path() + "/notify");
  setenv("NOTIFY_SOCKET", (directory.path() + "/notify").c_str(), 1);
  setenv("WATCHDOG_USEC", "20000", 1);
  DaemonProcess daemon(directory.path() + "/data", {}, DEPOT);
  unsetenv("NOTIFY_SOCKET");
  unsetenv("WATCHDOG_USEC");
  ASSERT_TRUE(daemon.running()) << daemon.said();
  EXPECT_EQ(systemd.next(), "READY=1\nSTATUS=serving");
  EXPECT_EQ(systemd.next(), "WATCHDOG=1");
  EXPECT_EQ(systemd.next(), "WATCHDOG=1");
  EXPECT_EQ(daemon.end(SIGTERM), 0);
  std::string last;
  while (last.empty() || last == "WATCHDOG=1") {
    last = systemd.next();
    ASSERT_FALSE(last.empty()) << "STOPPING did not come";
  }
  EXPECT_TRUE(last.starts_with("STOPPING=1\nSTATUS=")) << last;
}

// ---- The end with much to do ----

std::set<std::string> all_tasks(const DaemonProcess& daemon) {
  std::set<std::string> found;
  for (std::string after;;) {
    const http::Response page =
        get(daemon.socket(), "/tasks?limit=1000" + (after.empty() ? "" : "&after=" + after));
    EXPECT_EQ(page.status, 200) << page.body;
    for (std::string& id : ids_in(page.body)) found.insert(std::move(id));
    after = member_of(page.body.substr(page.body.find("],") + 1), "next");
    if (after.empty()) return found;
  }
}

// So often as TIFFANY_DRAINS says (./dev soak drain).
int repetitions() {
  const char* const text = std::getenv("TIFFANY_DRAINS");
  return text != nullptr ? std::atoi(text) : 2;
}

TEST(Drain, AThousandTasksAreLeftInGoodOrderAndGoOnAtTheNextStart) {
  const unsigned seed = 20261117;
  std::mt19937 random(seed);
  const TempDirectory directory;
  std::set<std::string> known;
  for (int i = 0; i < repetitions(); ++i) {
    SCOPED_TRACE("repetition " + std::to_string(i) + " of seed " + std::to_string(seed));
    DaemonProcess daemon(directory.path(), {}, DEPOT);
    ASSERT_TRUE(daemon.running()) << daemon.said();
    const int wanted = i == 0 ? 1000 : 50;
    // The first time when all are there, later at any moment between the first and the last.
    std::atomic<int> answered = 0;
    std::vector<std::string> made;
    std::thread client(
        [&] { made = start_many(directory.path(), wanted, R"({"type":"naps"})", &answered); });
    const int until = i == 0 ? wanted : static_cast<int>(random() % 50);
    while (answered < until) std::this_thread::yield();
    EXPECT_EQ(daemon.end(SIGTERM), 0) << daemon.said();
    client.join();
    known.insert(made.begin(), made.end());
    if (i == 0) {
      EXPECT_EQ(known.size(), 1000u);
      EXPECT_NE(daemon.said().find("1000 tasks go on at the next start"), std::string::npos)
          << daemon.said();
    }
    const CliSaid verified =
        run_shell(std::string(DEPOT) + " wal verify " + directory.path() + "/wal");
    EXPECT_EQ(verified.status, 0) << verified.out;
    EXPECT_NE(verified.out.find("closed in good order"), std::string::npos) << verified.out;
  }
  DaemonProcess daemon(directory.path(), {}, DEPOT);
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const std::set<std::string> found = all_tasks(daemon);
  for (const std::string& id : known) EXPECT_TRUE(found.contains(id)) << id;
  const std::string first = get(daemon.socket(), "/tasks/" + *known.begin()).body;
  EXPECT_NE(first.find(R"("status":"running")"), std::string::npos) << first;
  EXPECT_NE(first.find(R"("kind":"timer")"), std::string::npos) << first;
}

// ---- Backups ----

TEST(Backup, TakenUnderLoadAndRestoredElsewhereHoldsWhatWasAnsweredBeforeIt) {
  const TempDirectory directory;
  const TempDirectory elsewhere;
  const std::string backup = elsewhere.path() + "/backup";
  const std::string restored = elsewhere.path() + "/data";
  std::vector<std::string> before;
  std::size_t all = 0;
  {
    DaemonProcess daemon(directory.path(), {}, DEPOT);
    ASSERT_TRUE(daemon.running()) << daemon.said();
    before = start_many(directory.path(), 200, R"({"type":"naps"})");
    ASSERT_EQ(before.size(), 200u);
    std::atomic<int> answered = 0;
    std::vector<std::string> during;
    std::thread load(
        [&] { during = start_many(directory.path(), 1000, R"({"type":"naps"})", &answered); });
    while (answered == 0) std::this_thread::yield();
    const CliSaid made = run_shell(at_socket(directory.path(), "backup " + backup));
    EXPECT_EQ(made.status, 0) << made.err;
    load.join();
    all = before.size() + during.size();
    EXPECT_EQ(during.size(), 1000u);
  }
  const CliSaid copied = run_shell(std::string(DEPOT) + " restore " + backup + " " + restored);
  EXPECT_EQ(copied.status, 0) << copied.out << copied.err;
  EXPECT_NE(copied.out.find("serve --data " + restored), std::string::npos) << copied.out;
  const CliSaid again = run_shell(std::string(DEPOT) + " restore " + backup + " " + restored);
  EXPECT_EQ(again.status, 1);
  EXPECT_NE(again.err.find("empty or not there"), std::string::npos) << again.err;
  DaemonProcess daemon(restored, {}, DEPOT);
  ASSERT_TRUE(daemon.running()) << daemon.said();
  const std::set<std::string> found = all_tasks(daemon);
  for (const std::string& id : before) EXPECT_TRUE(found.contains(id)) << id;
  EXPECT_LE(found.size(), all);
}

TEST(Restore, RefusesWhatIsNoBackupOrIsDamaged) {
  const TempDirectory directory;
  const std::string depot = DEPOT;
  const CliSaid none = run_shell(depot + " restore /nowhere " + directory.path() + "/data");
  EXPECT_EQ(none.status, 1);
  EXPECT_NE(none.err.find("There is no directory"), std::string::npos) << none.err;
  EXPECT_EQ(run_shell(depot + " restore " + directory.path()).status, 2);
  {
    DaemonProcess daemon(directory.path() + "/old", {}, DEPOT);
    ASSERT_TRUE(daemon.running()) << daemon.said();
    EXPECT_EQ(start_many(directory.path() + "/old", 20, R"({"type":"naps"})").size(), 20u);
    EXPECT_EQ(daemon.end(SIGTERM), 0);
  }
  // A byte in the middle of a record.
  const std::string log = directory.path() + "/old/wal/00000001.journal";
  std::string bytes = content_of_file(log);
  const std::size_t at = bytes.find("\"naps\"");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 1] = 'm';
  write_text(log, bytes);
  const CliSaid damaged =
      run_shell(depot + " restore " + directory.path() + "/old " + directory.path() + "/new");
  EXPECT_EQ(damaged.status, 12) << damaged.out << damaged.err;
  EXPECT_NE(damaged.out.find("nothing was copied"), std::string::npos) << damaged.out;
  EXPECT_FALSE(std::filesystem::exists(directory.path() + "/new"));
}

}  // namespace operations_test
}  // namespace tiffany::daemon_tests

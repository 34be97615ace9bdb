// What a command in a sandbox can do, and what it cannot: the attempts of tests/exec/escape.cpp, at
// each level, as the user of the test and, when that is root, as nobody.
#include <arpa/inet.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <csignal>
#include <cstddef>
#include <cstring>
#include <map>

#include "exec/exec_world.hpp"

namespace tiffany {
namespace sandbox_test {

using exec::CommandEnd;
using exec::CommandResult;
using exec::CommandSpec;
using exec::Sandbox;
using exec::SandboxProbe;

constexpr uid_t kNobody = 65534;

class SandboxTest : public ExecTest {
 public:
  SandboxTest() {
    for (const char* const each : {"inside", "outside/empty", "shelf", "programs", "commands"}) {
      std::filesystem::create_directories(at(each));
    }
    // Where a home directory is closed, another user could not run them.
    std::filesystem::copy(TIFFANY_RUN, at("programs/tiffany-run"));
    std::filesystem::copy(ESCAPE, at("inside/escape"));
  }

  static int highest() {
    static const int known = [] {
      exec::Commands all("", TIFFANY_RUN);
      SandboxProbe probe;
      program([&]() -> Task<void> { probe = co_await all.probe_sandbox(); });
      return probe.level;
    }();
    return known;
  }

  CommandSpec in_sandbox(int level, std::vector<std::string> words) const {
    CommandSpec spec(std::move(words));
    spec.directory = at("inside");
    spec.synced = false;
    if (level > 0) spec.sandbox = Sandbox(level);
    return spec;
  }
  CommandSpec script(int level, const std::string& text) const {
    return in_sandbox(level, {"/bin/sh", "-c", text});
  }

  // Everything that the attempts are made on, of the user that this process is.
  class Prey {
   public:
    explicit Prey(const SandboxTest& test) : test_(test) {
      for (const char* const each : {"secret", "file", "removable", "movable", "exchanged"}) {
        put(outside(each), "secret\n");
      }
      put(test.at("shelf/book"), "words\n");
      constexpr auto kOnce = std::filesystem::copy_options::skip_existing;
      std::filesystem::copy("/bin/true", outside("program"), kOnce);
      name_ = "tiffany-escape-" + std::to_string(getpid());
      listener_ = socket(AF_INET, SOCK_STREAM, 0);
      sockaddr_in any{};
      any.sin_family = AF_INET;
      any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      bind(listener_, reinterpret_cast<sockaddr*>(&any), sizeof any);
      ::listen(listener_, 16);
      socklen_t size = sizeof any;
      getsockname(listener_, reinterpret_cast<sockaddr*>(&any), &size);
      port_ = ntohs(any.sin_port);
      serve(SOCK_STREAM, outside("socket"));
      serve(SOCK_DGRAM, outside("datagrams"));
      serve(SOCK_STREAM, '\0' + name_);
      memory_ = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
      queue_ = mq_open(("/" + name_).c_str(), O_RDWR | O_CREAT, 0600, nullptr);
      secret_ = open(outside("secret").c_str(), O_RDONLY | O_CLOEXEC);
      victim_ = fork();
      if (victim_ == 0) {
        if (chdir(test.at("outside").c_str()) != 0) _exit(1);
        prctl(PR_SET_DUMPABLE, 1);  // another user has become this one
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
      }
    }
    ~Prey() {
      kill(victim_, SIGKILL);
      waitpid(victim_, nullptr, 0);
      shmctl(memory_, IPC_RMID, nullptr);
      mq_close(queue_);
      mq_unlink(("/" + name_).c_str());
    }
    Prey(const Prey&) = delete;
    Prey& operator=(const Prey&) = delete;

    void tell(CommandSpec& spec) const {
      spec.environment = {{"OUTSIDE", test_.at("outside")},
                          {"SHELF", test_.at("shelf")},
                          {"VICTIM", std::to_string(victim_)},
                          {"VICTIM_FILE", std::to_string(secret_)},
                          {"PORT", std::to_string(port_)},
                          {"MEMORY", std::to_string(memory_)},
                          {"NAME", name_}};
    }
    // A file that only this process could see being made by a command.
    bool left_something() const {
      return unlink(("/tmp/" + name_).c_str()) == 0 || unlink(("/dev/shm/" + name_).c_str()) == 0;
    }

   private:
    std::string outside(const char* name) const { return test_.at("outside/") + name; }
    static void serve(int type, const std::string& path) {
      const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      std::memcpy(address.sun_path, path.data(), path.size());
      unlink(path.c_str());
      const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
      bind(fd, reinterpret_cast<const sockaddr*>(&address), size);
      ::listen(fd, 16);
    }
    const SandboxTest& test_;
    std::string name_;
    int listener_ = -1;
    int port_ = 0;
    int memory_ = -1;
    mqd_t queue_ = -1;
    int secret_ = -1;
    pid_t victim_ = -1;
  };

  // In a process of its own, as that user: how the command ended, or a sentence.
  std::string run_as(uid_t user, const Uuid& id,
                     const std::function<void(CommandSpec&, const Prey&)>& change,
                     CommandSpec spec) const {
    if (user != getuid()) give_to(user);  // once for a test
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
      if (user != getuid() && (setgid(user) != 0 || setuid(user) != 0)) _exit(2);
      prctl(PR_SET_DUMPABLE, 1);
      std::string said;
      {
        const Prey prey(*this);
        prey.tell(spec);
        change(spec, prey);
        exec::Commands all(commands_at(), at("programs/tiffany-run"));
        try {
          program([&]() -> Task<void> { said = (co_await all.run(id, spec)).text(); });
        } catch (const Error& error) {
          said = error.what();
        }
        if (prey.left_something()) said += ", and it left a file outside";
      }
      static_cast<void>(write(ends[1], said.data(), said.size()));
      _exit(0);
    }
    close(ends[1]);
    std::string said;
    std::array<char, 1024> room;
    for (ssize_t n = 0; (n = read(ends[0], room.data(), room.size())) > 0;) {
      said.append(room.data(), static_cast<std::size_t>(n));
    }
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return said;
  }

  void give_to(uid_t user) const {
    std::filesystem::copy("/usr/bin/id", at("shelf/setuid-id"));
    const std::string all = at("");
    for (const auto& each : std::filesystem::recursive_directory_iterator(all)) {
      ASSERT_EQ(chown(each.path().c_str(), user, user), 0);
    }
    ASSERT_EQ(chown(all.c_str(), user, user), 0);
    ASSERT_EQ(chown(at("shelf/setuid-id").c_str(), 0, 0), 0);
    ASSERT_EQ(chmod(at("shelf/setuid-id").c_str(), 04755), 0);
  }

  // Which attempts succeeded.
  std::map<std::string, bool> attempts(uid_t user, int level, const std::string& which) const {
    const Uuid id = id_of("escape");
    const std::string end = run_as(
        user, id,
        [&](CommandSpec& spec, const Prey&) {
          if (!spec.sandbox) return;
          spec.sandbox->read = {at("shelf")};
          spec.limits.file_bytes = std::uint64_t{3} << 19;
        },
        in_sandbox(level, {at("inside/escape"), which}));
    EXPECT_EQ(end, "exit code 0") << text_of(file_of(id, "err"));
    std::map<std::string, bool> all;
    std::istringstream lines(text_of(file_of(id, "out")));
    std::string name;
    for (bool succeeded = false; lines >> name >> succeeded;) all[name] = succeeded;
    return all;
  }

  void expect_proofs(uid_t user) const {
    const std::map<std::string, bool> all = attempts(user, 0, "proofs");
    EXPECT_GE(all.size(), 40u);
    for (const auto& [name, succeeded] : all) {
      EXPECT_TRUE(succeeded) << name << " fails without a sandbox, too: the test shows nothing";
    }
  }
  void expect_held(uid_t user, int level) const {
    if (highest() < level) GTEST_SKIP() << "this machine gives no level " << level;
    const std::map<std::string, bool> all = attempts(user, level, "all");
    EXPECT_GE(all.size(), 100u);
    for (const auto& [name, succeeded] : all) {
      EXPECT_FALSE(succeeded) << name << " gets out of level " << level;
    }
  }
};

TEST_F(SandboxTest, EveryAttemptThatCanSucceedsWithoutASandbox) { expect_proofs(getuid()); }
TEST_F(SandboxTest, NoAttemptGetsOutOfLevelTwo) { expect_held(getuid(), 2); }
TEST_F(SandboxTest, NoAttemptGetsOutOfLevelThree) { expect_held(getuid(), 3); }

TEST_F(SandboxTest, TheNetworkAndUnixSocketsAreThereWhenAskedFor) {
  if (highest() < 2) GTEST_SKIP() << "this machine gives no level 2";
  int number = 0;
  int level = 2;
  const auto end_of = [&](const char* attempt, const std::function<void(Sandbox&)>& change) {
    return run_as(
        getuid(), id_of(std::to_string(++number)),
        [&](CommandSpec& spec, const Prey&) { change(*spec.sandbox); },
        in_sandbox(level, {at("inside/escape"), attempt}));
  };
  const auto network = [](Sandbox& sandbox) { sandbox.network = true; };
  const auto unix_sockets = [](Sandbox& sandbox) { sandbox.unix_sockets = true; };
  EXPECT_EQ(end_of("connect_tcp", network), "exit code 0");
  EXPECT_EQ(end_of("send_udp", network), "exit code 0");
  EXPECT_EQ(end_of("open_netlink", network), "exit code 0");
  EXPECT_EQ(end_of("open_packets", network), "exit code 1");
  EXPECT_EQ(end_of("connect_path", network), "exit code 1");
  EXPECT_EQ(end_of("connect_path", unix_sockets), "exit code 0");
  EXPECT_EQ(end_of("connect_abstract", unix_sockets), "exit code 1");
  if (highest() < 3) return;
  level = 3;
  EXPECT_EQ(end_of("connect_tcp", network), "exit code 0");
  EXPECT_EQ(end_of("connect_path", unix_sockets), "exit code 1") << "the path is not there";
}

TEST_F(SandboxTest, WithAllOfProcOtherProcessesStayClosedAndOnlyTheirWordsAreRead) {
  if (highest() < 2) GTEST_SKIP() << "this machine gives no level 2";
  const auto end_of = [&](const char* attempt) {
    return run_as(
        getuid(), id_of(attempt),
        [](CommandSpec& spec, const Prey&) { spec.sandbox->read = {"/proc"}; },
        in_sandbox(2, {at("inside/escape"), attempt}));
  };
  for (const char* const each : {"read_environment", "open_memory", "read_by_its_root",
                                 "read_by_its_directory", "read_by_its_descriptor"}) {
    EXPECT_EQ(end_of(each), "exit code 1") << each;
  }
  EXPECT_EQ(end_of("read_command_line"), "exit code 0");
}

TEST_F(SandboxTest, ACommandWithTooManyProcessesIsKilledWithAllOfThem) {
  for (int level = 2; level <= highest(); ++level) {
    CommandSpec spec = in_sandbox(level, {at("inside/escape"), "fork_many"});
    spec.limits.processes = 100;
    EXPECT_EQ(run(id_of("enough" + std::to_string(level)), spec).text(), "exit code 0");
    spec.limits.processes = 24;
    const CommandResult end = run(id_of("too many" + std::to_string(level)), spec);
    EXPECT_EQ(end.end, CommandEnd::signalled);
    EXPECT_NE(end.text().find("where 24 are allowed"), std::string::npos) << end.text();
  }
}

TEST_F(SandboxTest, ACommandThatReachesTheForkerHasNothingBegunThere) {
  if (highest() < 2) GTEST_SKIP() << "this machine gives no level 2";
  CommandSpec spec = in_sandbox(2, {at("inside/escape"), "use_forker"});
  spec.environment = {{"OUTSIDE", at("outside")}};
  spec.sandbox->unix_sockets = true;
  EXPECT_EQ(run(id_of("a command"), spec).text(), "exit code 1");
  EXPECT_FALSE(std::filesystem::exists(at("outside/begun")));
  // Whoever is no command is heard.
  const std::string call = "OUTSIDE=" + at("outside") + " TIFFANY_OUTPUT=" + commands_at() +
                           "/x/outputs " + at("inside/escape") + " use_forker";
  EXPECT_EQ(std::system(call.c_str()), 0);
  EXPECT_TRUE(std::filesystem::exists(at("outside/begun")));
}

// Kernels that do not have the later parts of Landlock, and those whose filters cannot ask.
class OnAnOlderKernel : public SandboxTest, public testing::WithParamInterface<int> {
  void SetUp() override {
    setenv("TIFFANY_TEST_LANDLOCK_ABI", std::to_string(GetParam()).c_str(), 1);
  }
  void TearDown() override {
    unsetenv("TIFFANY_TEST_LANDLOCK_ABI");
    unsetenv("TIFFANY_TEST_NO_NOTIFY");
  }
};
INSTANTIATE_TEST_SUITE_P(Sandbox, OnAnOlderKernel, testing::Values(2, 5));

TEST_P(OnAnOlderKernel, NoAttemptGetsOutOfLevelTwo) { expect_held(getuid(), 2); }
TEST_P(OnAnOlderKernel, NoAttemptGetsOutWhenTheFilterCannotAsk) {
  setenv("TIFFANY_TEST_NO_NOTIFY", "1", 1);
  // The limit is that of the processes of a user then, and root is never over it.
  expect_held(getuid() == 0 ? kNobody : getuid(), 2);
}

class SandboxOfNobody : public SandboxTest {
  void SetUp() override {
    if (getuid() != 0) GTEST_SKIP() << "only root can become another user";
  }
};

TEST_F(SandboxOfNobody, EveryAttemptThatCanSucceedsWithoutASandbox) { expect_proofs(kNobody); }
TEST_F(SandboxOfNobody, NoAttemptGetsOutOfLevelTwo) { expect_held(kNobody, 2); }
TEST_F(SandboxOfNobody, NoAttemptGetsOutOfLevelThree) { expect_held(kNobody, 3); }

}  // namespace sandbox_test
}  // namespace tiffany

// Which reactor a scheduler gets.
#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>

#include "support/harness.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/system_reactor.hpp"

namespace tiffany {
namespace reactor_choice_test {

using test::code_of;
using test::thrown_by;
using test::what_of;

Task<std::string> through_a_pipe() {
  Pipe pipe = make_pipe();
  co_await pipe.write_end.write("through");
  std::array<char, 16> room;
  const std::size_t n = co_await pipe.read_end.read(room);
  co_return std::string(room.data(), n);
}

// What does the I/O of a scheduler that was told nothing, or this kind.
std::string used_reactor(ReactorKind kind = ReactorKind::automatic) {
  Scheduler scheduler(Options().clock(system_reactor(kind)));
  EXPECT_STREQ(reactor_name(scheduler.reactor()), "none yet");
  EXPECT_EQ(run_on(scheduler, through_a_pipe()), "through");
  return reactor_name(scheduler.reactor());
}

class Asked {
 public:
  explicit Asked(const char* value) { setenv("TIFFANY_REACTOR", value, 1); }
  ~Asked() { unsetenv("TIFFANY_REACTOR"); }
};

TEST(ReactorChoice, T8_TheBestOneThatWorksIsTaken) {
  EXPECT_EQ(used_reactor(), uring_works() ? "uring" : "epoll");
}

TEST(ReactorChoice, T8_TheEnvironmentCanAskForOne) {
  const Asked asked("epoll");
  EXPECT_EQ(used_reactor(), "epoll");
}

TEST(ReactorChoice, T8_TheEnvironmentCanAskForIoUring) {
  if (!uring_works()) GTEST_SKIP() << "this kernel does not let us use io_uring";
  const Asked asked("uring");
  EXPECT_EQ(used_reactor(), "uring");
  EXPECT_EQ(used_reactor(ReactorKind::epoll), "epoll") << "what the program says comes first";
}

TEST(ReactorChoice, T8_AskingForOneThatDoesNotExistIsAnErrorThatNamesIt) {
  const Asked asked("kqueue");
  const auto error = thrown_by([] { used_reactor(); });
  EXPECT_EQ(code_of(error), Errc::no_io);
  EXPECT_EQ(
      what_of(error),
      "The environment variable TIFFANY_REACTOR is \"kqueue\", and there is no reactor of that "
      "name. Set it to uring (io_uring), epoll or automatic, or unset it: then Tiffany takes "
      "the best one that works.");
}

TEST(ReactorChoice, AnEmptyVariableIsAsGoodAsNone) {
  const Asked asked("");
  EXPECT_EQ(used_reactor(), uring_works() ? "uring" : "epoll");
}

TEST(ReactorChoice, AVeryLongNameIsNotRepeatedInFull) {
  const Asked asked(std::string(100'000, 'x').c_str());
  EXPECT_LT(what_of(thrown_by([] { used_reactor(); })).size(), 400u);
}

// From here on the kernel refuses this system call to this process, as containers often do.
void forbid(unsigned call) {
  sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(std::size(code)), code};
  ASSERT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  ASSERT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// In a process of its own that may not make the call, everything is done by epoll.
void expect_epoll_without(unsigned call) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);  // ends a process that waits for ever
    forbid(call);
    const bool epoll = used_reactor() == "epoll";
    const auto error = thrown_by([] { used_reactor(ReactorKind::uring); });
    _exit(epoll && code_of(error) == Errc::no_io ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ReactorChoice, T8_WhereTheKernelRefusesIoUringEpollDoesEverything) {
  expect_epoll_without(SYS_io_uring_setup);
}

TEST(ReactorChoice, WhereTheKernelRefusesToEnterARingEpollDoesEverything) {
  expect_epoll_without(SYS_io_uring_enter);
}

TEST(ReactorChoice, WhereTheKernelRefusesToRegisterWithARingEpollDoesEverything) {
  expect_epoll_without(SYS_io_uring_register);
}

TEST(ReactorChoice, T8_IoUringStaysWithItsThreadAndSaysSo) {
  if (!uring_works()) GTEST_SKIP() << "this kernel does not let us use io_uring";
  Scheduler scheduler(Options().clock(system_reactor(ReactorKind::uring)));
  EXPECT_EQ(run_on(scheduler, through_a_pipe()), "through");
  std::exception_ptr error;
  std::thread other([&] { error = thrown_by([&] { run_on(scheduler, through_a_pipe()); }); });
  other.join();
  EXPECT_EQ(code_of(error), Errc::no_io);
  EXPECT_EQ(run_on(scheduler, through_a_pipe()), "through") << "its own thread can go on";
}

}  // namespace reactor_choice_test
}  // namespace tiffany

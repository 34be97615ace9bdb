#include "forker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "begin.hpp"
#include "confine.hpp"
#include "supervise.hpp"
#include "tiffany/base/codec.hpp"

namespace tiffany::supervisor {
namespace {

constexpr int kIdleMs = 10'000;
constexpr int kBacklog = 1024;

void tell_end(const Fd& to, char what, const CommandDirectory& directory) {
  write_all(to.get(), what + directory.read("exit.json").value_or(""));
}

void attend(Fd connection) {
  try {
    const std::string text = read_to_end(connection.get());
    const std::size_t line = text.find('\n');
    if (line == std::string::npos) return;  // the program has gone in the middle of its request
    const auto request = from_json<exec::ForkRequest>(std::string_view(text).substr(0, line));
    const std::string_view words = std::string_view(text).substr(line + 1);
    const auto spec = from_json<exec::CommandSpec>(words);
    for (const auto& [name, value] : request.variables) setenv(name.c_str(), value.c_str(), 1);
    CommandDirectory directory(request.directory);
    switch (take(directory, spec, words)) {
      case Standing::taken:
        write_all(connection.get(), std::string_view(&exec::kTaken, 1));
        return;
      case Standing::over:
        return tell_end(connection, exec::kOver, directory);
      case Standing::free:
        setsid();
        supervise(directory, spec, std::move(connection));
    }
  } catch (const std::exception& error) {
    write_all(connection.get(), exec::kRefused + std::string(error.what()));
  }
}

bool has_no_new_privileges(pid_t process) {
  try {
    const std::string path = "/proc/" + std::to_string(process) + "/status";
    const std::string text = read_all(AT_FDCWD, path.c_str(), 64 * 1024).value_or("");
    return text.find("\nNoNewPrivs:\t0\n") == std::string::npos;
  } catch (const Refusal&) {
    return true;  // it has gone, or is not to be looked at
  }
}

// The same user, but no command: one in a sandbox could have others begun here without one. Every
// command has given up new privileges for good. The program that this forker is for is known by its
// number; any other that has given them up calls `tiffany-run begin`.
bool may_ask(int connection, pid_t program) {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return false;
  return who.uid == geteuid() && (who.pid == program || !has_no_new_privileges(who.pid));
}

// Until the program has ended, or nothing is asked for.
void serve(Fd listener, Fd program, pid_t caller, Fd lock) {
  for (;;) {
    std::array<pollfd, 2> all{{{listener.get(), POLLIN, 0}, {program.get(), POLLIN, 0}}};
    const int ready = poll(all.data(), all.size(), kIdleMs);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0 || all[1].revents != 0) return;
    Fd connection(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() < 0 || !may_ask(connection.get(), caller)) continue;
    if (fork() != 0) continue;  // without a process the program reads the end, and tries again
    std::signal(SIGCHLD, SIG_DFL);
    // What is the forker's alone: its lock must not live as long as a command.
    listener.close();
    program.close();
    lock.close();
    attend(std::move(connection));
    _exit(0);
  }
}

Fd listener_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    throw Refusal("The path " + path + " is too long for a socket.");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  Fd listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (listener.get() < 0) refuse("make", "a socket");
  unlink(path.c_str());
  if (bind(listener.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    refuse("bind", path);
  }
  if (::listen(listener.get(), kBacklog) != 0) refuse("listen at", path);
  return listener;
}

}  // namespace

int listen(const std::string& directory) {
  const pid_t caller = getppid();
  Fd program(static_cast<int>(syscall(SYS_pidfd_open, caller, 0)));
  if (program.get() < 0 || getppid() != caller) return 0;  // it has gone already
  make_directory(directory);
  // Held by the forker as long as it lives: one for a directory.
  const std::string lock_path = directory + "/forker.lock";
  Fd lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (lock.get() < 0) refuse("open", lock_path);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return 0;
  Fd listener = listener_at(directory + "/forker");
  boot_id();  // read once, for all that are forked
  prepare_confinement();
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) refuse("make", "a pipe");
  const Fd hear(ends[0]);
  Fd ready(ends[1]);
  const pid_t child = fork();
  if (child < 0) refuse("make", "a process");
  if (child > 0) {
    ready.close();
    char byte = 0;  // or the end: what is left of the group of this process is killed after it
    while (read(hear.get(), &byte, 1) < 0 && errno == EINTR) {
    }
    return 0;
  }
  setsid();
  ready.close();
  const Fd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int number = 0; number < 3; ++number) dup2(null.get(), number);
  std::signal(SIGCHLD, SIG_IGN);  // nobody waits for supervisors here
  serve(std::move(listener), std::move(program), caller, std::move(lock));
  return 0;
}

}  // namespace tiffany::supervisor

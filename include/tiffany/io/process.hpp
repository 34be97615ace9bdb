// Other programs: started, spoken to through pipes, waited for, and never left behind.
//
//   Process grep(Command("grep").arg("-c").arg("x").pipe_input().pipe_output());
//   co_await grep.input().write(text);
//   grep.input().close();
//   ...
//   ExitStatus end = co_await grep.wait();
//
// A Process has a group of its own, and its children are in it. Destroyed before it was waited for,
// as when its task is cancelled, the whole group is killed and the process reaped: there are no
// zombies and no orphans, except for what has left the group by itself (setsid). The price of the
// group: Ctrl-C in a terminal reaches this program only, and a child that reads from the terminal
// is stopped. Ask for same_group() where that matters; then only the process itself is killed.
//
// The child gets no descriptor of ours but the three, no signal mask, no ignored signals, and of
// the environment only what a program needs to find itself: PATH, HOME, USER, LOGNAME, SHELL, LANG,
// LANGUAGE, LC_*, TZ, TMPDIR and TERM. So a key or a token in our environment does not go on by
// itself; env() and inherit_environment() say what does.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/stream.hpp"

namespace tiffany {

class World;

class Command {
 public:
  // Looked up in PATH unless it has a slash.
  explicit Command(std::string program) { words_.push_back(std::move(program)); }
  Command&& arg(std::string word) && {
    words_.push_back(std::move(word));
    return std::move(*this);
  }
  // NAME=value, in addition to what is inherited; the last one for a name counts.
  Command&& env(std::string name, std::string value) && {
    environment_.emplace_back(std::move(name), std::move(value));
    return std::move(*this);
  }
  // All of our environment, or nothing of it; default: see above.
  Command&& inherit_environment() && {
    inherits_ = Inherits::everything;
    return std::move(*this);
  }
  Command&& clear_environment() && {
    inherits_ = Inherits::nothing;
    return std::move(*this);
  }
  // Stays in the process group of this program, for what talks to the terminal.
  Command&& same_group() && {
    own_group_ = false;
    return std::move(*this);
  }
  Command&& directory(std::string path) && {
    directory_ = std::move(path);
    return std::move(*this);
  }
  // What is not piped is inherited; input is /dev/null then.
  Command&& pipe_input() && {
    pipe_input_ = true;
    return std::move(*this);
  }
  Command&& pipe_output() && {
    pipe_output_ = true;
    return std::move(*this);
  }
  Command&& pipe_errors() && {
    pipe_errors_ = true;
    return std::move(*this);
  }
  std::string text() const;

 private:
  friend class Process;
  friend class Terminal;
  enum class Inherits : std::uint8_t { basics, everything, nothing };
  std::vector<std::string> environment() const;
  void check() const;

  std::vector<std::string> words_;
  std::vector<std::pair<std::string, std::string>> environment_;
  std::string directory_;
  std::string terminal_;  // a path: see io/terminal.hpp
  bool pipe_input_ = false;
  bool pipe_output_ = false;
  bool pipe_errors_ = false;
  bool own_group_ = true;
  Inherits inherits_ = Inherits::basics;
};

struct ExitStatus {
  int code = 0;    // of a process that ended by itself
  int signal = 0;  // of one that a signal ended; 0 otherwise
  bool ok() const noexcept { return code == 0 && signal == 0; }
  std::string text() const;
};

class Process {
 public:
  // Throws IoError when it cannot be started (ENOENT: there is no such program, or no such working
  // directory; the sentence says which), Errc::bad_argument for a zero byte in a word or a name of
  // the environment that is empty or has a '='.
  explicit Process(const Command& command);
  ~Process() { kill_and_reap(); }
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const noexcept { return pid_; }
  ByteStream& input() noexcept { return input_; }
  ByteStream& output() noexcept { return output_; }
  ByteStream& errors() noexcept { return errors_; }
  // To the process alone. Harmless when it has been waited for.
  void kill(int signal) const noexcept;
  // To the process and its children; with same_group(), to the process alone. Harmless as above.
  void kill_group(int signal) const noexcept;
  // May be awaited again, and gives the same. Children of the process that are left go on. Throws
  // IoError (ECHILD) when the exit status is lost, because SIGCHLD is ignored in this program or
  // somebody else has reaped the process. Cancel: the process goes on until it is destroyed.
  Task<ExitStatus> wait();
  // Until it has ended, without reaping it, so that kill_group() still reaches its children.
  // Cancel: as wait().
  Task<void> ended();

 private:
  void kill_and_reap() noexcept;
  void reap() noexcept;

  std::string name_;
  pid_t pid_ = -1;
  Descriptor handle_;  // of the process itself: readable when it has ended
  ByteStream input_;
  ByteStream output_;
  ByteStream errors_;
  ExitStatus status_;
  int lost_status_ = 0;  // an errno: why status_ says nothing
  World* world_;
  bool own_group_ = true;
  bool ended_ = true;
};

struct ProcessOutput {
  ProcessOutput(ExitStatus how, std::string out, std::string err)
      : status(how), output(std::move(out)), errors(std::move(err)) {}
  ExitStatus status;
  // At most so many bytes as RunOptions::limit says. What was cut off is replaced by a line
  // "[and 1234 more bytes]" and counted.
  std::string output;
  std::string errors;
  std::uint64_t output_dropped = 0;
  std::uint64_t errors_dropped = 0;
};

class RunOptions {
 public:
  RunOptions() noexcept = default;
  // So many bytes of the output are kept, and as many of the errors. Default: 16 MiB.
  RunOptions&& limit(std::size_t bytes) && noexcept {
    limit_ = bytes;
    return std::move(*this);
  }
  std::size_t limit() const noexcept { return limit_; }

 private:
  std::size_t limit_ = std::size_t{16} << 20;
};

// Runs a command with `input` until it has ended, and gives what it wrote until then. Output beyond
// the limit is read and thrown away, so that the command does not wait for us. What is left of its
// group when it has ended is killed; a grandchild that has left the group and still has our pipe is
// not waited for. A time limit is within(d, run_command(...)).
//
// Cancel: the command and its group are killed, and the command is reaped.
Task<ProcessOutput> run_command(Command command, std::string input = {},
                                RunOptions options = RunOptions());

}  // namespace tiffany

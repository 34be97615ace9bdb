// Other programs: started, spoken to through pipes, waited for, and never left behind.
//
//   Process grep(Command("grep").arg("-c").arg("x").pipe_input().pipe_output());
//   co_await grep.input().write(text);
//   grep.input().close();
//   ...
//   ExitStatus end = co_await grep.wait();
//
// A Process that is destroyed before it was waited for, as when its task is cancelled, is killed and
// reaped: there are no zombies and no orphans. The child gets no descriptor of ours but the three, no
// signal mask and no ignored signals.
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

class Command {
 public:
  // Looked up in PATH unless it has a slash.
  explicit Command(std::string program) { words_.push_back(std::move(program)); }
  Command&& arg(std::string word) && {
    words_.push_back(std::move(word));
    return std::move(*this);
  }
  // NAME=value, in addition to what this process has.
  Command&& env(std::string name, const std::string& value) && {
    environment_.push_back(std::move(name) + "=" + value);
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
  std::vector<std::string> words_;
  std::vector<std::string> environment_;
  std::string directory_;
  std::string terminal_;  // a path: see io/terminal.hpp
  bool pipe_input_ = false;
  bool pipe_output_ = false;
  bool pipe_errors_ = false;
};

struct ExitStatus {
  int code = 0;    // of a process that ended by itself
  int signal = 0;  // of one that a signal ended; 0 otherwise
  bool ok() const noexcept { return code == 0 && signal == 0; }
  std::string text() const;
};

class Process {
 public:
  // Throws IoError when it cannot be started (ENOENT: there is no such program).
  explicit Process(const Command& command);
  ~Process() { kill_and_reap(); }
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;

  pid_t pid() const noexcept { return pid_; }
  ByteStream& input() noexcept { return input_; }
  ByteStream& output() noexcept { return output_; }
  ByteStream& errors() noexcept { return errors_; }
  // Harmless when it has ended.
  void kill(int signal) const noexcept;
  // May be awaited again, and gives the same. Cancel: the process goes on until it is destroyed.
  Task<ExitStatus> wait();

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
  bool ended_ = true;
};

struct ProcessOutput {
  ProcessOutput(ExitStatus how, std::string out, std::string err)
      : status(how), output(std::move(out)), errors(std::move(err)) {}
  ExitStatus status;
  std::string output;
  std::string errors;
};
// Runs a command to its end with `input`, and gives what it wrote. More than `most` bytes of either:
// it is killed, and this is an error.
Task<ProcessOutput> run_command(Command command, std::string input = {},
                                std::size_t most = std::size_t{16} << 20);

}  // namespace tiffany

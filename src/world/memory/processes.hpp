// Signals in memory. There are no processes beside this one. Internal.
#pragma once

#include <csignal>
#include <list>

#include "world/memory/state.hpp"

namespace tiffany::world::memory {

class Processes final : public WorldProcesses {
 public:
  explicit Processes(State& state) noexcept : state_(state) {}
  void raise(int signal);

  int start(const Plan&, pid_t&) noexcept override { return ENOSYS; }
  int open_handle(pid_t) noexcept override { return with_errno(-ENOSYS); }
  int kill(pid_t process, int signal) noexcept override;
  int send_signal(int, int) noexcept override { return with_errno(-ENOSYS); }
  int wait(pid_t, int&, int&) noexcept override { return ECHILD; }
  char** environment() noexcept override;
  int open_signals(std::uint64_t wanted, void*& token, int& failed) override;
  void close_signals(void* token) noexcept override;
  void ignore_broken_pipes() noexcept override {}  // none of its pipes raises a signal
  std::vector<std::string> arguments() override { return {}; }

 private:
  struct Sink {
    std::uint64_t wanted;
    int fd;  // where signals are written to
  };
  State& state_;
  std::list<Sink> sinks_;  // their addresses are the tokens
};

}  // namespace tiffany::world::memory

// What the tests of commands share: a directory, commands in it, and fifos to keep step with them.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tiffany/exec/commands.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/io/system_reactor.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany {

// A fifo that is open for both ends here, so that nobody waits for the other side to come.
class Fifo {
 public:
  explicit Fifo(std::string path) : path_(std::move(path)) {
    mkfifo(path_.c_str(), 0600);
    fd_ = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  }
  ~Fifo() { close(fd_); }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;
  const std::string& path() const { return path_; }
  // Blocks until somebody has written one; at most half a minute.
  std::string line() const { return line_of(fd_); }
  static std::string line_of(int fd) {
    std::string text;
    for (;;) {
      pollfd wait{fd, POLLIN, 0};
      char c = 0;
      if (poll(&wait, 1, 30'000) != 1 || read(fd, &c, 1) != 1) return "nobody wrote";
      if (c == '\n') return text;
      text += c;
    }
  }
  void write_line(const std::string& text) const {
    const std::string bytes = text + "\n";
    ASSERT_EQ(write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  int fd() const { return fd_; }

 private:
  std::string path_;
  int fd_ = -1;
};

class ExecTest : public testing::Test {
 public:
  ExecTest() {
    std::string name = (std::filesystem::temp_directory_path() / "tiffany-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~ExecTest() override { std::filesystem::remove_all(path_); }

  static Uuid id_of(const std::string& name) { return Uuid::derived(Uuid(), name); }
  std::string at(const std::string& name) const { return path_ + "/" + name; }
  std::string commands_at() const { return at("commands"); }
  exec::Commands commands() const { return exec::Commands(commands_at(), TIFFANY_RUN); }
  std::string file_of(const Uuid& id, const std::string& name) const {
    return commands_at() + "/" + id.text() + "/" + name;
  }

  static std::string text_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }

  static exec::CommandSpec shell(const std::string& script, std::vector<std::string> more = {}) {
    std::vector<std::string> words{"/bin/sh", "-c", script, "sh"};
    words.insert(words.end(), more.begin(), more.end());
    return exec::CommandSpec(std::move(words));
  }

  // Runs a coroutine to its end, on the operating system.
  template <class F>
  static void program(F f) {
    Scheduler scheduler(Options().clock(system_reactor()));
    auto handle = scheduler.spawn(std::ref(f));
    scheduler.run();
    outcome_of(handle, false).value();
  }
  exec::CommandResult run(const Uuid& id, exec::CommandSpec spec) const {
    exec::Commands all = commands();
    exec::CommandResult end;
    program([&]() -> Task<void> { end = co_await all.run(id, spec); });
    return end;
  }
  void stop(const Uuid& id) const {
    exec::Commands all = commands();
    program([&]() -> Task<void> { co_await all.stop(id); });
  }

  // Whether a process ends within half a minute.
  static bool ends(pid_t process) {
    const int handle = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (handle < 0) return true;
    pollfd wait{handle, POLLIN, 0};
    const bool ended = poll(&wait, 1, 30'000) == 1;
    close(handle);
    return ended;
  }

 private:
  std::string path_;
};

}  // namespace tiffany

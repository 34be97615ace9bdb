// Runs the commands of an App as a shell does, for tests.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

#include "app/daemon_process.hpp"

namespace tiffany::daemon_tests {

struct CliSaid {
  std::string out;
  std::string err;
  int status = 0;
};

inline std::string content_of_file(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// What a command writes to a path while it runs. A command that writes nothing for half a minute is
// waited for no longer.
class Followed {
 public:
  explicit Followed(const std::string& path) {
    if (mkfifo(path.c_str(), 0600) != 0) throw std::runtime_error("no fifo " + path);
    fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  }
  ~Followed() { close(fd_); }
  Followed(const Followed&) = delete;
  Followed& operator=(const Followed&) = delete;
  // Waits until that text has come.
  bool has(const std::string& text) {
    constexpr int kLongest = 30'000;
    while (said_.find(text) == std::string::npos) {
      pollfd readable{fd_, POLLIN, 0};
      if (poll(&readable, 1, kLongest) <= 0) return false;
      take();
    }
    return true;
  }
  // Everything, of a command that has ended.
  const std::string& all() {
    take();
    return said_;
  }

 private:
  void take() {
    std::array<char, 4096> room;
    for (ssize_t n = 0; (n = read(fd_, room.data(), room.size())) > 0;) {
      said_.append(room.data(), static_cast<std::size_t>(n));
    }
  }
  std::string said_;
  int fd_ = -1;
};

// A command line of a shell. Standard input is empty.
inline CliSaid run_shell(const std::string& command) {
  const TempDirectory scratch;
  const std::string out = scratch.path() + "/out";
  const std::string err = scratch.path() + "/err";
  const std::string line = "( " + command + " ) >" + out + " 2>" + err + " </dev/null";
  const int status = std::system(line.c_str());
  return {content_of_file(out), content_of_file(err), WEXITSTATUS(status)};
}

// What differs from run to run: ids become <id>, times <time>, ages <age>.
inline std::string without_ids(std::string text) {
  static const std::regex kId("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}");
  static const std::regex kTime("[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}(\\.[0-9]{6}Z)?");
  static const std::regex kClock("[0-9]{2}:[0-9]{2}:[0-9]{2}");
  text = std::regex_replace(text, kId, "<id>");
  text = std::regex_replace(text, kTime, "<time>");
  return std::regex_replace(text, kClock, "<clock>");
}

// Waits until it is so, and asks now and then; at most half a minute.
template <class F>
bool eventually(const F& is_so) {
  constexpr std::chrono::seconds kLongest(30);
  constexpr int kPauseMs = 2;
  const auto end = std::chrono::steady_clock::now() + kLongest;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    poll(nullptr, 0, kPauseMs);
  }
  return true;
}

// A daemon of depot (depot.cpp), and its commands.
class DepotTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    directory_ = new TempDirectory;
    daemon_ = new DaemonProcess(directory_->path(), {}, DEPOT);
    ASSERT_TRUE(daemon_->running()) << daemon_->said();
  }
  static void TearDownTestSuite() {
    delete daemon_;
    delete directory_;
    daemon_ = nullptr;
    directory_ = nullptr;
  }

  static std::string words(const std::string& arguments) {
    return std::string(DEPOT) + " --socket " + directory_->path() + "/tiffany.sock " + arguments;
  }
  static CliSaid depot(const std::string& arguments) { return run_shell(words(arguments)); }
  // The id of a task that was started, when all is well.
  static std::string started(const std::string& arguments) {
    const CliSaid said = depot("start " + arguments);
    EXPECT_EQ(said.status, 0) << said.err;
    return said.out.substr(0, said.out.find('\n'));
  }
  // Whether a command comes to print that.
  static bool shows(const std::string& arguments, const std::string& text) {
    return eventually([&] { return depot(arguments).out.find(text) != std::string::npos; });
  }
  // A task that waits for its approval.
  static std::string waiting(const std::string& name) {
    const std::string id = started("order '{\"id\":\"" + name + "\",\"amount\":5000}'");
    EXPECT_TRUE(shows("show " + id, "approval#1"));
    return id;
  }

  static TempDirectory* directory_;
  static DaemonProcess* daemon_;
};
inline TempDirectory* DepotTest::directory_ = nullptr;
inline DaemonProcess* DepotTest::daemon_ = nullptr;

}  // namespace tiffany::daemon_tests

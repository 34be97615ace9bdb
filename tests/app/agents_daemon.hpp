// A daemon with a file of the setting `agents` of a test's own, and what is beside that file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "agent/repository.hpp"
#include "app/cli_runner.hpp"

namespace tiffany::daemon_tests {

class AgentsDaemonTest : public ::testing::Test {
 protected:
  std::string at(const std::string& name) const { return place_.path() + "/" + name; }
  void agents(const std::string& text) const {
    agent::canvas_support::write_file(at("agents.json"), text);
  }
  // Ends the one before.
  void serve() {
    daemon_.reset();
    daemon_ = std::make_unique<DaemonProcess>(
        data_.path(), std::vector<std::string>{"--agents", at("agents.json")}, DEPOT);
  }
  // What a daemon says that does not start.
  std::string refused() {
    serve();
    EXPECT_FALSE(daemon_->running());
    EXPECT_NE(daemon_->wait(), 0);
    return daemon_->said();
  }
  CliSaid depot(const std::string& words) const {
    return run_shell(std::string(DEPOT) + " --socket " + data_.path() + "/tiffany.sock " + words);
  }
  static bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }

  TempDirectory place_;
  TempDirectory data_;
  std::unique_ptr<DaemonProcess> daemon_;
};

}  // namespace tiffany::daemon_tests

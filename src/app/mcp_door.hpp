// How the tools of MCP reach the daemon: through its API, as a client of it or inside of it.
// Internal.
#pragma once

#include <string>

#include "app/api.hpp"
#include "app/cli.hpp"

namespace tiffany::app {

class McpDoor {
 public:
  virtual ~McpDoor() = default;
  // Below /api/v1, and the JSON of the answer. CliFailure as Client has it.
  virtual Task<Json> get(std::string path, Duration patience = Client::kPatience) = 0;
  virtual Task<Json> post(std::string path, std::string body) = 0;
  // What is no JSON, such as a file.
  virtual Task<std::string> bytes(std::string path) = 0;
  virtual const App& app() const noexcept = 0;
  // What a person types to run a command on the same daemon.
  virtual std::string command(const std::string& words) const = 0;
};

// Of the command line.
class CliDoor final : public McpDoor {
 public:
  explicit CliDoor(Cli& cli) noexcept : cli_(cli) {}
  Task<Json> get(std::string path, Duration patience) override {
    return cli_.client.get(std::move(path), patience);
  }
  Task<Json> post(std::string path, std::string body) override {
    return cli_.client.post(std::move(path), std::move(body));
  }
  Task<std::string> bytes(std::string path) override {
    return cli_.client.page(std::string(kApi) + path);
  }
  const App& app() const noexcept override { return cli_.app; }
  std::string command(const std::string& words) const override { return cli_.command(words); }

 private:
  Cli& cli_;
};

}  // namespace tiffany::app

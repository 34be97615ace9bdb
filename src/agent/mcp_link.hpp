// A connection to a server of tools: the standard streams of a program, or HTTP.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/mcp_wire.hpp"
#include "tiffany/agent/mcp_tools.hpp"
#include "tiffany/base/scrub.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/io/process.hpp"

namespace tiffany::agent::mcp {

// One request. The text is without a line break.
class Ask {
 public:
  Ask(std::int64_t number, std::string what, std::string message, Duration silence)
      : id(number), method(std::move(what)), text(std::move(message)), idle(silence) {}
  std::int64_t id;
  std::string method;
  std::string text;
  Duration idle;       // without an answer and without progress
  std::string tool{};  // that is called, or the id of a task
  std::vector<std::pair<std::string, std::string>> headers{};  // over HTTP, in the modern era
  bool cancels = true;  // the server is told when nobody waits any more
  // Something of it may have reached the server.
  bool sent = false;
};

// Errors are sentences that begin with "It": the caller knows what of. Errc::io_failed when the
// server cannot be reached, is too slow or gone, Errc::bad_reply when it says what is no MCP.
class Link {
 public:
  virtual ~Link() = default;
  // The answer, which may be an error of the server. Cancel: the server is told, if it can be.
  virtual Task<Said> ask(Ask& what) = 0;
  virtual Task<void> tell(std::string notification) = 0;
  // What was agreed upon: the version, in the handshake era.
  virtual void use_version(std::string version) = 0;
  // Nothing can be asked through it any more.
  virtual bool broken() const noexcept = 0;
  virtual Task<void> close() = 0;
  // Called for list_changed.
  std::function<void()> list_changed{};
};

// A server that says so much without being asked is ended.
inline constexpr std::size_t kMostUnasked = 100'000;
inline constexpr std::size_t kMostUnaskedBytes = std::size_t{64} << 20;

// Starts the program. Throws IoError. `secrets` is what goes out of sentences.
Task<std::shared_ptr<Link>> start_program(McpOptions options);
// Over streams that are there: for tests.
std::shared_ptr<Link> link_over(ByteStream from, ByteStream to, std::size_t most_bytes);
// Nothing is asked yet.
std::function<Task<std::shared_ptr<Link>>()> service_of(const McpOptions& options);

}  // namespace tiffany::agent::mcp

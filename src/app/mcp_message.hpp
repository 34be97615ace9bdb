// Messages of MCP: JSON-RPC 2.0, one message a line. Internal.
//
// Nothing below the members that MCP names is read into a tree: a message of 8 MiB needs a few
// times its size, whatever is in it.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/json_reader.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/io/stream.hpp"

namespace tiffany::app {

// Codes of JSON-RPC 2.0, of implementations (-32000 to -32019), and of MCP (from -32020 on).
namespace rpc {
inline constexpr int kNoJson = -32700;
inline constexpr int kNoRequest = -32600;
inline constexpr int kNoMethod = -32601;
inline constexpr int kBadParams = -32602;
inline constexpr int kInternal = -32603;
inline constexpr int kTooMany = -32000;
inline constexpr int kNoResource = -32002;  // of the handshake era; later it is kBadParams
inline constexpr int kBadHeader = -32020;
inline constexpr int kNoCapability = -32021;
inline constexpr int kNoVersion = -32022;
}  // namespace rpc

// Why a message is answered with an error.
struct RpcFailure {
  int code = rpc::kNoRequest;
  std::string sentence;
  std::string data{};  // JSON; empty: none
  std::string id{};    // of the request, as far as it could be read; empty: unknown
};

// The members of a JSON object, as they are written.
class RawObject {
 public:
  RawObject() = default;
  // Errc::bad_json, also for a name that is there twice: readers do not agree which one counts.
  static RawObject parse(std::string_view json);

  bool has(std::string_view name) const { return members_.find(name) != members_.end(); }
  std::optional<JsonKind> kind(std::string_view name) const;
  bool is_object(std::string_view name) const { return kind(name) == JsonKind::object; }
  // As it is written; `fallback` when it is not there.
  std::string raw(std::string_view name, std::string_view fallback = "") const;
  // The content of a string; empty for everything else.
  std::string text(std::string_view name) const;
  bool truth(std::string_view name) const { return raw(name) == "true"; }
  // The members of an object; none for everything else.
  RawObject object(std::string_view name) const;

 private:
  std::map<std::string, std::string, std::less<>> members_;
};

struct RpcMessage {
  std::string id{};      // as JSON; empty: a notification
  std::string method{};  // empty: an answer to a question, and this server asks none
  RawObject params{};
};

// Throws RpcFailure.
RpcMessage read_rpc_message(std::string_view json);
// The messages of a batch. Throws RpcFailure.
std::vector<std::string> read_rpc_batch(std::string_view json, std::size_t most);
bool is_rpc_batch(std::string_view json) noexcept;
// The id in a member, as a message would have it. Throws RpcFailure.
std::string rpc_id_in(const RawObject& object, std::string_view name);

std::string rpc_result(const std::string& id, const std::string& result);
std::string rpc_error(const std::string& id, const RpcFailure& failure);

// Lines of a stream. One that is longer than its bound is reported and skipped, and those behind it
// are read.
class McpLines {
 public:
  McpLines(ByteStream& from, std::size_t longest) : from_(&from), longest_(longest) {}
  enum class Came { line, too_long, end };
  // Cancel. Before start and while parked: nothing is lost. After completion: the line is given.
  Task<Came> next(std::string* line);

 private:
  ByteStream* from_;
  std::size_t longest_;
  std::string buffer_;
  std::size_t looked_ = 0;  // bytes of the buffer without an end of a line
  bool skips_ = false;
  bool ended_ = false;
  std::string room_;
};

}  // namespace tiffany::app

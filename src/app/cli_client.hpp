// A client of the API, for the command line. Internal.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "app/cli_json.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/io/any_stream.hpp"
#include "tiffany/serve/http_client.hpp"

namespace tiffany::app {

// Why a command ends, and with which status. The sentence is for standard error.
struct CliFailure {
  int status = 1;
  std::string sentence;
};

// Where the daemon is, and who asks it.
class Endpoint {
 public:
  Endpoint() = default;
  // http://host:port or https://host:port. Throws CliFailure 2.
  void take_url(const std::string& url);

  std::string socket{};  // path of a unix socket; empty: host and port
  std::string host{};
  std::uint16_t port = 0;
  bool tls = false;
  std::string authority{};  // file with what certificates are checked against; empty: the system's
  std::string token{};
  std::string text() const;  // for people
};

// One event of /api/v1/pal.
struct PalLine {
  std::string id{};
  std::string event{};
  std::string data{};
};

// The failure for an answer of the API that is none of 2xx.
CliFailure failure_of(const http::Response& answer);

class Client {
 public:
  Client(Endpoint where, std::string program)
      : where_(std::move(where)), program_(std::move(program)) {}

  static constexpr Duration kPatience = std::chrono::seconds(30);

  // Below /api/v1, and the JSON of the answer. CliFailure for every answer that is none of 2xx: 3
  // when there is no daemon or it is starting or ending, 4 when there is no such thing, 2 when the
  // request was wrong, 1 otherwise.
  Task<Json> get(std::string path, Duration patience = kPatience);
  Task<Json> post(std::string path, std::string body, Duration patience = kPatience);
  Task<Json> remove(std::string path);
  // The status of the last answer.
  int status() const noexcept { return status_; }
  // From the root, as text.
  Task<std::string> page(std::string path);

  const Endpoint& where() const noexcept { return where_; }
  Task<AnyStream> connect() const;
  http::Request request(std::string method, std::string target, std::string body = {}) const;
  // The failure for what went wrong on the way.
  CliFailure unreachable(const std::string& why) const;

 private:
  Task<http::Response> ask(std::string method, std::string target, std::string body,
                           Duration patience);
  Task<Json> json(std::string method, std::string path, std::string body, Duration patience);
  Endpoint where_;
  std::string program_;
  int status_ = 0;
};

// The stream of events of one connection.
class PalStream {
 public:
  // Connects and asks; `after` is the id of the last event that was seen. CliFailure.
  static Task<PalStream> open(const Client& client, std::string query, std::string after);
  // Nothing: the stream has ended. Throws IoError.
  Task<std::optional<PalLine>> next();

 private:
  explicit PalStream(http::StreamedAnswer answer) : answer_(std::move(answer)) {}
  http::StreamedAnswer answer_;
  std::string text_;
};

}  // namespace tiffany::app

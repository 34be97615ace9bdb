// A model behind an HTTP endpoint that speaks as OpenAI's does: chat completions or responses.
//
//   Endpoint endpoint("https://api.example.org/v1", "large");
//   endpoint.key = KeySource::environment("EXAMPLE_KEY");
//   HttpModel model(std::move(endpoint));
//   Reply reply = co_await model.ask(request, Try(key), live);
//
// The reply is streamed, over our own HTTP and TLS: so it can be cancelled, limited in time and
// simulated. One connection for each question; connections are not kept for the next one.
// Redirects are not followed. Nothing is retried here: a step does that, by what is thrown.
//
//   RetryAfter           429 or 503 with Retry-After (seconds, a date, or retry-after-ms)
//   NotRetryable         400, 401, 403, 404, 413, 422, each other 4xx, redirects, 429 for want of
//                        money (insufficient_quota), no key; with the endpoint's own sentence
//   Errc::model_failed   not reached, too slow, broken off before its end ([DONE],
//                        response.completed), 408, 409, 425, 5xx, an error in the stream
//   Errc::bad_reply      no UTF-8, no JSON, arguments of a tool that are no JSON object, a call
//                        without a name, a wrong content type, an encoding nobody asked for, too
//                        many bytes
//
// What a sentence or a reply has of the API key is replaced by ***.
//
// Lifetime: the model outlives its questions. Thread safety: none; any number of questions at a
// time on one scheduler.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tiffany/agent/model.hpp"
#include "tiffany/base/time.hpp"

namespace tiffany::agent {

// Where a secret is. It is read each time it is needed and kept nowhere.
class KeySource {
 public:
  KeySource() = default;  // there is none
  static KeySource file(std::string path) { return KeySource(Kind::file, std::move(path)); }
  static KeySource environment(std::string variable) {
    return KeySource(Kind::environment, std::move(variable));
  }

  // Without white space at its ends; empty when there is none. NotRetryable when it cannot be read,
  // is empty, or has a character that no header can have. Cancel: nothing is read.
  Task<std::string> read() const;
  // "the file /run/key", for sentences.
  std::string about() const;
  bool operator==(const KeySource&) const = default;

 private:
  enum class Kind : std::uint8_t { none, file, environment };
  KeySource(Kind kind, std::string where) : kind_(kind), where_(std::move(where)) {}
  Kind kind_ = Kind::none;
  std::string where_;
};

enum class Protocol : std::uint8_t {
  chat,       // POST <url>/chat/completions
  responses,  // POST <url>/responses
};

class Endpoint {
 public:
  // As clients of OpenAI have it: with the path that the names of calls come behind. Without a path
  // it is /v1.
  Endpoint(std::string base_url, std::string model_id)
      : url(std::move(base_url)), model(std::move(model_id)) {}

  std::string url;
  std::string model;   // what the endpoint calls it
  std::string name{};  // what Reply::model and sentences call it; empty: as `model`
  Protocol protocol = Protocol::chat;
  KeySource key{};
  std::string key_header = "authorization";  // "Bearer <key>"; of another name: the key alone
  // What chat calls Request::most_output. Newer models of OpenAI want max_completion_tokens.
  std::string limit_member = "max_tokens";
  bool streamed = true;
  std::string trust{};                              // a PEM file, trusted besides the system's
  Duration first_byte = std::chrono::seconds(120);  // from the connection to the first of the reply
  Duration idle = std::chrono::seconds(60);         // between two pieces
  Duration deadline = std::chrono::minutes(10);     // of all of it
  std::size_t most_bytes = std::size_t{16} << 20;   // of the answer
};

class HttpModel final : public Model {
 public:
  // Error (bad_argument) for a URL that is none, or https where TLS is not compiled in. Reads the
  // certificates of the system for https, and so blocks: do it before serving.
  explicit HttpModel(Endpoint endpoint);
  ~HttpModel() override;

  // Cancel. Before start: nothing is asked. While parked: the connection is closed; the endpoint
  // may have counted what it has said. After completion: the reply is delivered, and the next
  // suspension throws.
  Task<Reply> ask(Request request, Try attempt, LiveText live) override;

  const Endpoint& endpoint() const noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tiffany::agent

// One question to an HTTP endpoint: the connection, with TLS where the URL says so.
#pragma once

#include <optional>
#include <string>

#include "agent/endpoint_url.hpp"
#include "agent/model_tls.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/serve/http_client.hpp"

namespace tiffany::agent {

class EndpointDoor {
 public:
  // `trust`: a PEM file besides what the system trusts, or empty. Reads certificates for https, and
  // so blocks.
  EndpointDoor(EndpointUrl where, const std::string& trust);

  const EndpointUrl& url() const noexcept { return url_; }
  // Connects, asks, and reads the head of the answer. Throws IoError and http::HttpError. Cancel:
  // the connection is closed.
  Task<http::StreamedAnswer> open(http::Request message);

 private:
  EndpointUrl url_;
  std::optional<ModelTls> tls_;
};

// Headers that each question has.
void set_headers(http::Request& message, const EndpointUrl& url, std::string accept);
// And the key, if there is one: "Bearer <key>" in authorization, the key alone in another header.
void set_key(http::Request& message, const std::string& header, const std::string& key);

// "text/event-stream" of "Text/Event-Stream; charset=utf-8".
std::string media_type(const http::Response& head);

}  // namespace tiffany::agent

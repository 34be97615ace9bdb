// Questions to an endpoint of OpenAI's kind: limits of time and of bytes, the key, and what becomes
// of an answer that is none. What models and embeddings share.
#pragma once

#include <cstddef>
#include <string>

#include "agent/endpoint_door.hpp"
#include "tiffany/agent/http_model.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/scrub.hpp"
#include "tiffany/base/time.hpp"

namespace tiffany::agent {

class EndpointCall {
 public:
  // `call` comes behind the path of the URL: "/embeddings". Error (bad_argument) for a URL that is
  // none, a header that is none, and without a name of the model.
  EndpointCall(Endpoint what, const std::string& call);

  // One question, with what is needed to speak of it.
  struct Question {
    Question() = default;
    Scrubber secrets{};  // the key
    http::Request message{};
    Time first_due{};
    std::size_t bytes = 0;  // of the answer, so far
  };

  // Reads the key, and writes the message. `key`: the same for the same question, or empty.
  Task<void> prepare(Question& question, std::string accept, std::string body,
                     const std::string& key) const;
  // The answer whose body comes next; throws what another one becomes.
  Task<http::StreamedAnswer> open(Question& question);
  // The next piece of the body, within its time; empty at the end.
  Task<std::string> read_piece(Question& question, http::StreamedAnswer& answer, bool first) const;

  const Endpoint& endpoint() const noexcept { return endpoint_; }
  std::string about() const;  // "The endpoint small (https://...)"
  [[noreturn]] void fail(Errc code, const std::string& sentence) const {
    throw Error(code, about() + " " + sentence);
  }
  // In a handler: what was thrown becomes model_failed or bad_reply, with a sentence that names the
  // endpoint and has no key in it. RetryAfter, NotRetryable and a cancel pass.
  [[noreturn]] void pass_on(const Question& question) const;

 private:
  Task<http::StreamedAnswer> open_in_time(Question& question);
  Task<void> refuse(Question& question, http::StreamedAnswer& answer) const;
  void check_head(const http::Response& head) const;

  Endpoint endpoint_;
  EndpointDoor door_;
  std::string path_;
};

// A text of an endpoint in a sentence of ours: short, one line, printable.
std::string quoted_from_endpoint(std::string_view text);

}  // namespace tiffany::agent

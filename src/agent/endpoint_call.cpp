#include "agent/endpoint_call.hpp"

#include <algorithm>
#include <utility>

#include "agent/endpoint_failure.hpp"
#include "agent/endpoint_url.hpp"
#include "agent/retry_after.hpp"
#include "agent/wire_parts.hpp"
#include "base/shown_text.hpp"
#include "tiffany/base/sha256.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/durable/failures.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/serve/http_client.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::agent {

namespace {

constexpr std::size_t kLongestErrorBody = std::size_t{64} << 10;
constexpr std::size_t kLongestSentence = 400;

Time time_now() { return Scheduler::require("An endpoint").deadline_in(Duration::zero()); }

}  // namespace

std::string quoted_from_endpoint(std::string_view text) {
  std::string shown = tiffany::detail::shown(text.substr(0, kLongestSentence));
  if (text.size() > kLongestSentence) shown += "...";
  return shown;
}

// A mistake in the headers is found here, before the first question.
EndpointCall::EndpointCall(Endpoint what, const std::string& call)
    : endpoint_(std::move(what)), door_(parse_endpoint_url(endpoint_.url), endpoint_.trust) {
  if (endpoint_.name.empty()) endpoint_.name = endpoint_.model;
  path_ = door_.url().path + call;
  http::Headers headers;
  headers.add(endpoint_.key_header, "key");
  if (endpoint_.limit_member.empty() || endpoint_.model.empty()) {
    throw Error(Errc::bad_argument, about() + " has no name of a model, or of the limit.");
  }
}

std::string EndpointCall::about() const {
  return "The endpoint " + tiffany::detail::shown(endpoint_.name) + " (" + endpoint_.url + ")";
}

Task<void> EndpointCall::prepare(Question& question, std::string accept, std::string body,
                                 const std::string& key) const {
  const std::string secret = co_await endpoint_.key.read();
  question.secrets.add(secret);
  http::Request& message = question.message;
  message = http::Request("POST", path_);
  set_headers(message, door_.url(), std::move(accept));
  if (!key.empty()) {  // a digest: a key may have what no header can have
    message.headers.set("idempotency-key", sha256_hex(key).substr(0, 32));
  }
  set_key(message, endpoint_.key_header, secret);
  message.body = std::move(body);
}

Task<http::StreamedAnswer> EndpointCall::open_in_time(Question& question) {
  question.first_due = time_now() + endpoint_.first_byte;
  Task<http::StreamedAnswer> opening = door_.open(std::move(question.message));
  auto opened = co_await within(endpoint_.first_byte, std::move(opening));
  if (opened.timed_out()) {
    fail(Errc::model_failed,
         "did not begin to answer within " + duration_text(endpoint_.first_byte) + ".");
  }
  co_return std::move(opened).value();
}

Task<std::string> EndpointCall::read_piece(Question& question, http::StreamedAnswer& answer,
                                           bool first) const {
  Duration limit = endpoint_.idle;
  if (first) limit = std::max(question.first_due - time_now(), Duration::zero());
  Task<std::string> reading = answer.read();
  auto come = co_await within(limit, std::move(reading));
  if (come.timed_out()) {
    fail(Errc::model_failed,
         first ? "did not begin to answer within " + duration_text(endpoint_.first_byte) + "."
               : "said nothing for " + duration_text(endpoint_.idle) +
                     " in the middle of its reply.");
  }
  std::string piece = std::move(come).value();
  question.bytes += piece.size();
  if (question.bytes > endpoint_.most_bytes) {
    fail(Errc::bad_reply, "said more than the " + std::to_string(endpoint_.most_bytes) +
                              " bytes that a reply may have.");
  }
  co_return piece;
}

// Throws what an answer that is no reply becomes.
Task<void> EndpointCall::refuse(Question& question, http::StreamedAnswer& answer) const {
  const http::Response head = answer.head();
  if (head.status >= 300 && head.status < 400) {
    const std::string_view to = head.headers.find("location").value_or("nowhere");
    throw NotRetryable(question.secrets.scrubbed(
        about() + " redirects to " + quoted_from_endpoint(to) +
        ". Redirects are not followed, because the API key would go there: set the URL."));
  }
  std::string body;
  try {
    while (body.size() < kLongestErrorBody) {
      const std::string piece = co_await read_piece(question, answer, false);
      if (piece.empty()) break;
      body += piece;
    }
  } catch (const Error&) {  // the status counts; what has come of the sentence is shown
    body += " ...";
  }
  const std::string said = wire::error_of_body(body);
  std::string sentence = about() + " answered " + std::to_string(head.status);
  const std::string_view reason = http::reason_of(head.status);
  if (!reason.empty()) sentence += " (" + std::string(reason) + ")";
  sentence += said.empty() ? "." : ": " + quoted_from_endpoint(question.secrets.scrubbed(said));
  sentence = question.secrets.scrubbed(sentence);
  if (head.status < 400) fail(Errc::bad_reply, "answered " + std::to_string(head.status) + ".");
  if (said.find("insufficient_quota") != std::string::npos) throw NotRetryable(sentence);
  throw_for_status(head.status, sentence,
                   retry_after(head.headers, World::current().wall_clock_us()));
}

void EndpointCall::check_head(const http::Response& head) const {
  const std::string_view encoding = head.headers.find("content-encoding").value_or("identity");
  if (!http::same_name(encoding, "identity")) {
    fail(Errc::bad_reply, "answers with the content encoding " + quoted_from_endpoint(encoding) +
                              ", which nobody asked for.");
  }
  const std::string type = media_type(head);
  if (type != "text/event-stream" && type != "application/json") {
    fail(Errc::bad_reply, "answers with the content type \"" + quoted_from_endpoint(type) +
                              "\" instead of a stream of events or JSON: is the URL right?");
  }
}

Task<http::StreamedAnswer> EndpointCall::open(Question& question) {
  http::StreamedAnswer answer = co_await open_in_time(question);
  if (answer.head().status != 200) co_await refuse(question, answer);
  check_head(answer.head());
  co_return answer;
}

void EndpointCall::pass_on(const Question& question) const {
  try {
    throw;
  } catch (const IoError& error) {
    throw Error(Errc::model_failed,
                question.secrets.scrubbed(about() + " could not be asked: " + error.what()));
  } catch (const http::HttpError& error) {
    throw Error(Errc::model_failed,
                question.secrets.scrubbed(about() + " broke off: " + error.what()));
  } catch (const Error& error) {
    std::string sentence = error.what();
    if (!sentence.starts_with("The endpoint " + tiffany::detail::shown(endpoint_.name))) {
      sentence = about() + ": " + quoted_from_endpoint(sentence);
    }
    const bool ours = error.code() == Errc::bad_reply || error.code() == Errc::model_failed;
    const Errc code = error.code() == Errc::bad_json ? Errc::bad_reply : Errc::model_failed;
    throw Error(ours ? error.code() : code, question.secrets.scrubbed(sentence));
  }
}

}  // namespace tiffany::agent

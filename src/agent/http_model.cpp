#include "tiffany/agent/http_model.hpp"

#include <algorithm>
#include <optional>

#include "agent/endpoint_door.hpp"
#include "agent/endpoint_failure.hpp"
#include "agent/endpoint_url.hpp"
#include "agent/retry_after.hpp"
#include "agent/sse_reader.hpp"
#include "agent/wire.hpp"
#include "agent/wire_parts.hpp"
#include "base/shown_text.hpp"
#include "tiffany/agent/script.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/scrub.hpp"
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

Time time_now() { return Scheduler::require("HttpModel").deadline_in(Duration::zero()); }

// A text of the endpoint in a sentence of ours: short, one line, printable.
std::string quoted(std::string_view text) {
  std::string shown = tiffany::detail::shown(text.substr(0, kLongestSentence));
  if (text.size() > kLongestSentence) shown += "...";
  return shown;
}

}  // namespace

class HttpModel::State {
 public:
  explicit State(Endpoint what)
      : endpoint(std::move(what)), door(parse_endpoint_url(endpoint.url), endpoint.trust) {
    if (endpoint.name.empty()) endpoint.name = endpoint.model;
    path = door.url().path +
           (endpoint.protocol == Protocol::chat ? "/chat/completions" : "/responses");
    check_headers();
  }

  Task<Reply> ask(Request request, Try attempt, LiveText live);

  Endpoint endpoint;
  std::string about() const {
    return "The endpoint " + tiffany::detail::shown(endpoint.name) + " (" + endpoint.url + ")";
  }

 private:
  // One question, with what is needed to speak of it.
  struct Question {
    Question() = default;
    Scrubber secrets{};
    http::Request message{};
    Time first_due{};
    std::size_t bytes = 0;  // of the answer, so far
  };

  void check_headers() const;
  Task<void> prepare(Question& question, const Request& request, const Try& attempt);
  Task<http::StreamedAnswer> open_in_time(Question& question);
  Task<std::string> read_piece(Question& question, http::StreamedAnswer& answer, bool first);
  Task<void> refuse(Question& question, http::StreamedAnswer& answer);
  void check_head(const http::Response& head) const;
  Task<void> read_answer(Question& question, wire::Assembler& reply, const LiveText& live);
  [[noreturn]] void fail(Errc code, const std::string& sentence) const {
    throw Error(code, about() + " " + sentence);
  }

  EndpointDoor door;
  std::string path;
};

// Once, so that a mistake is found before the first question.
void HttpModel::State::check_headers() const {
  http::Headers headers;
  headers.add(endpoint.key_header, "key");
  if (endpoint.limit_member.empty() || endpoint.model.empty()) {
    throw Error(Errc::bad_argument, about() + " has no name of a model, or of the limit.");
  }
}

Task<void> HttpModel::State::prepare(Question& question, const Request& request,
                                     const Try& attempt) {
  const std::string key = co_await endpoint.key.read();
  question.secrets.add(key);
  http::Request& message = question.message;
  message = http::Request("POST", path);
  set_headers(message, door.url(), endpoint.streamed ? "text/event-stream" : "application/json");
  if (!attempt.key.empty()) {  // a digest: a key may have what no header can have
    message.headers.set("idempotency-key", sha256_hex(attempt.key).substr(0, 32));
  }
  set_key(message, endpoint.key_header, key);
  message.body = endpoint.protocol == Protocol::chat ? wire::chat_body(endpoint, request)
                                                     : wire::responses_body(endpoint, request);
}

Task<http::StreamedAnswer> HttpModel::State::open_in_time(Question& question) {
  question.first_due = time_now() + endpoint.first_byte;
  Task<http::StreamedAnswer> opening = door.open(std::move(question.message));
  auto opened = co_await within(endpoint.first_byte, std::move(opening));
  if (opened.timed_out()) {
    fail(Errc::model_failed,
         "did not begin to answer within " + duration_text(endpoint.first_byte) + ".");
  }
  co_return std::move(opened).value();
}

// The next piece of the body, within its time; empty at the end.
Task<std::string> HttpModel::State::read_piece(Question& question, http::StreamedAnswer& answer,
                                               bool first) {
  Duration limit = endpoint.idle;
  if (first) limit = std::max(question.first_due - time_now(), Duration::zero());
  Task<std::string> reading = answer.read();
  auto come = co_await within(limit, std::move(reading));
  if (come.timed_out()) {
    fail(Errc::model_failed,
         first
             ? "did not begin to answer within " + duration_text(endpoint.first_byte) + "."
             : "said nothing for " + duration_text(endpoint.idle) + " in the middle of its reply.");
  }
  std::string piece = std::move(come).value();
  question.bytes += piece.size();
  if (question.bytes > endpoint.most_bytes) {
    fail(Errc::bad_reply, "said more than the " + std::to_string(endpoint.most_bytes) +
                              " bytes that a reply may have.");
  }
  co_return piece;
}

// Throws what an answer that is no reply becomes.
Task<void> HttpModel::State::refuse(Question& question, http::StreamedAnswer& answer) {
  const http::Response head = answer.head();
  if (head.status >= 300 && head.status < 400) {
    const std::string_view to = head.headers.find("location").value_or("nowhere");
    throw NotRetryable(question.secrets.scrubbed(
        about() + " redirects to " + quoted(to) +
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
  sentence += said.empty() ? "." : ": " + quoted(question.secrets.scrubbed(said));
  sentence = question.secrets.scrubbed(sentence);
  if (head.status < 400) fail(Errc::bad_reply, "answered " + std::to_string(head.status) + ".");
  if (said.find("insufficient_quota") != std::string::npos) throw NotRetryable(sentence);
  throw_for_status(head.status, sentence,
                   retry_after(head.headers, World::current().wall_clock_us()));
}

void HttpModel::State::check_head(const http::Response& head) const {
  const std::string_view encoding = head.headers.find("content-encoding").value_or("identity");
  if (!http::same_name(encoding, "identity")) {
    fail(Errc::bad_reply,
         "answers with the content encoding " + quoted(encoding) + ", which nobody asked for.");
  }
  const std::string type = media_type(head);
  if (type != "text/event-stream" && type != "application/json") {
    fail(Errc::bad_reply, "answers with the content type \"" + quoted(type) +
                              "\" instead of a stream of events or JSON: is the URL right?");
  }
}

Task<void> HttpModel::State::read_answer(Question& question, wire::Assembler& reply,
                                         const LiveText& live) {
  http::StreamedAnswer answer = co_await open_in_time(question);
  if (answer.head().status != 200) co_await refuse(question, answer);
  check_head(answer.head());
  const bool streamed = media_type(answer.head()) == "text/event-stream";
  SseReader events;
  std::string body;
  bool first = true;
  while (!reply.complete()) {
    const std::string piece = co_await read_piece(question, answer, first);
    first = false;
    if (piece.empty()) break;
    if (!streamed) {
      body += piece;
      continue;
    }
    events.add(piece);
    while (!reply.complete()) {
      const std::optional<std::string> event = events.next();
      if (!event) break;
      reply.event(*event, live);
    }
  }
  if (!streamed) reply.body(body);
}

Task<Reply> HttpModel::State::ask(Request request, Try attempt, LiveText live) {
  Question question;
  co_await prepare(question, request, attempt);
  const std::unique_ptr<wire::Assembler> assembler = wire::assembler_of(endpoint.protocol);
  Scrubber::Stream clean(question.secrets);
  LiveText scrubbed;
  if (live) {
    scrubbed = [&](std::string_view piece) {
      const std::string text = clean.add(piece);
      if (!text.empty()) live(text);
    };
  }
  try {
    co_await read_answer(question, *assembler, scrubbed);
    if (!assembler->complete()) {
      fail(Errc::model_failed, endpoint.protocol == Protocol::chat
                                   ? "ended its reply before it said [DONE]: it was cut off."
                                   : "ended its reply before response.completed: it was cut off.");
    }
    Reply reply = assembler->finish(turn_of(request));
    if (live) {
      const std::string rest = clean.finish();
      if (!rest.empty()) live(rest);
    }
    reply.message.text = question.secrets.scrubbed(reply.message.text);
    for (ToolCall& call : reply.message.calls) {
      call.arguments = question.secrets.scrubbed(call.arguments);
    }
    reply.message.tainted = is_tainted(request);
    reply.model = endpoint.name;
    co_return reply;
  } catch (const IoError& error) {
    throw Error(Errc::model_failed,
                question.secrets.scrubbed(about() + " could not be asked: " + error.what()));
  } catch (const http::HttpError& error) {
    throw Error(Errc::model_failed,
                question.secrets.scrubbed(about() + " broke off: " + error.what()));
  } catch (const Error& error) {
    std::string sentence = error.what();
    if (!sentence.starts_with("The endpoint " + tiffany::detail::shown(endpoint.name))) {
      sentence = about() + ": " + quoted(sentence);
    }
    const bool ours = error.code() == Errc::bad_reply || error.code() == Errc::model_failed;
    const Errc code = error.code() == Errc::bad_json ? Errc::bad_reply : Errc::model_failed;
    throw Error(ours ? error.code() : code, question.secrets.scrubbed(sentence));
  }
}

HttpModel::HttpModel(Endpoint endpoint) : state_(std::make_unique<State>(std::move(endpoint))) {}
HttpModel::~HttpModel() = default;
const Endpoint& HttpModel::endpoint() const noexcept { return state_->endpoint; }

Task<Reply> HttpModel::ask(Request request, Try attempt, LiveText live) {
  Task<Reply> asking = state_->ask(std::move(request), std::move(attempt), std::move(live));
  auto done = co_await within(state_->endpoint.deadline, std::move(asking));
  if (done.timed_out()) {
    throw Error(Errc::model_failed, state_->about() + " did not end its reply within " +
                                        duration_text(state_->endpoint.deadline) + ".");
  }
  co_return std::move(done).value();
}

}  // namespace tiffany::agent

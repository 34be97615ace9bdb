// A service: each message is a POST of its own, answered with JSON or with a stream of events.
#include <algorithm>
#include <chrono>

#include "agent/endpoint_door.hpp"
#include "agent/mcp_link.hpp"
#include "agent/sse_reader.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/durable/failures.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::agent::mcp {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kLongestSession = 1024;

bool may_be_a_header(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kLongestSession &&
         std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

// What all messages to one service share. Kept by those that are under way.
struct Service {
  Service(const McpOptions& options, EndpointUrl where)
      : door(std::move(where), options.trust),
        key(options.key),
        key_header(options.key_header),
        most_bytes(options.most_bytes) {}
  EndpointDoor door;
  KeySource key;
  std::string key_header;
  std::size_t most_bytes;
};
using ServicePtr = std::shared_ptr<Service>;

class HttpLink final : public Link, public std::enable_shared_from_this<HttpLink> {
 public:
  explicit HttpLink(ServicePtr service) : service_(std::move(service)) {}

  Task<Said> ask(Ask& what) override {
    Scrubber secrets;
    std::string sentence;
    Errc code = Errc::io_failed;
    try {
      const Telling telling(*this, what);
      Said said = co_await answer_to(what, secrets);
      co_return said;
    } catch (const IoError& error) {
      sentence = std::string("It cannot be asked: ") + error.what();
    } catch (const http::HttpError& error) {
      sentence = std::string("It broke off: ") + error.what();
    } catch (const NotRetryable& error) {  // of the key
      sentence = error.what();
    } catch (const Error& error) {
      code = error.code() == Errc::bad_reply ? Errc::bad_reply : Errc::io_failed;
      sentence = error.what();
    }
    throw Error(code, secrets.scrubbed(sentence));
  }

  Task<void> tell(std::string notification) override {
    ++posts_;
    co_await post_quietly(shared_from_this(), std::move(notification));
  }
  void use_version(std::string version) override { version_ = std::move(version); }
  bool broken() const noexcept override { return lost_session_; }
  Task<void> close() override { co_return; }

 private:
  // Cancelled in the handshake era: the end of the connection says nothing there.
  class Telling {
   public:
    Telling(HttpLink& link, const Ask& ask)
        : link_(link), ask_(ask), thrown_(std::uncaught_exceptions()) {}
    ~Telling() {
      const bool goes = std::uncaught_exceptions() > thrown_;
      if (!goes || !ask_.sent || !ask_.cancels || link_.version_.empty()) return;
      link_.post_later(notification_text(
          "notifications/cancelled", "\"requestId\":" + std::to_string(ask_.id) +
                                         ",\"reason\":\"Nobody waits for the answer any more.\""));
    }
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;

   private:
    HttpLink& link_;
    const Ask& ask_;
    int thrown_;
  };

  http::Request message_of(std::string text, const std::string& key) const {
    http::Request message("POST", service_->door.url().path);
    set_headers(message, service_->door.url(), "application/json, text/event-stream");
    set_key(message, service_->key_header, key);
    if (!version_.empty()) message.headers.set("mcp-protocol-version", version_);
    if (!session_.empty()) message.headers.set("mcp-session-id", session_);
    message.body = std::move(text);
    return message;
  }

  Task<Said> answer_to(Ask& what, Scrubber& secrets) {
    const std::string key = co_await service_->key.read();
    secrets.add(key);
    http::Request message = message_of(what.text, key);
    if (version_.empty() && what.method != "initialize") {  // the modern era
      message.headers.set("mcp-protocol-version", std::string(kModern));
      message.headers.set("mcp-method", what.method);
      if (!what.tool.empty()) message.headers.set("mcp-name", what.tool);
      for (const auto& [name, value] : what.headers) message.headers.set(name, value);
    }
    what.sent = false;
    http::StreamedAnswer answer = co_await opened(what, std::move(message));
    const int status = answer.head().status;
    const std::string_view session = answer.head().headers.find("mcp-session-id").value_or("");
    if (what.method == "initialize" && may_be_a_header(session)) session_ = session;
    const std::string type = media_type(answer.head());
    if (status == 200 && type == "text/event-stream") co_return co_await from_events(what, answer);
    const std::string body = co_await whole(what, answer);
    co_return from_body(what, status, type, body);
  }

  // Nothing has reached the service before the connection is there.
  Task<http::StreamedAnswer> opened(Ask& what, http::Request message) {
    Task<http::StreamedAnswer> opening = service_->door.open(std::move(message));
    bool refused = false;
    std::string sentence;
    try {
      what.sent = true;
      auto come = co_await within(what.idle, std::move(opening));
      if (come.timed_out()) {
        throw Error(Errc::io_failed, "It said nothing for " + duration_text(what.idle) + ".");
      }
      co_return std::move(come).value();
    } catch (const IoError& error) {
      refused = error.number() == ECONNREFUSED || error.number() == ENOENT ||
                error.number() == ENETUNREACH || error.number() == EHOSTUNREACH;
      sentence = error.what();
    }
    if (refused) what.sent = false;
    throw Error(Errc::io_failed, "It cannot be asked: " + sentence);
  }

  Task<std::string> piece_of(const Ask& what, http::StreamedAnswer& answer, Duration limit) {
    Task<std::string> reading = answer.read();
    auto come = co_await within(limit, std::move(reading));
    if (come.timed_out()) {
      throw Error(Errc::io_failed, "It said nothing for " + duration_text(what.idle) + ".");
    }
    co_return std::move(come).value();
  }

  Task<std::string> whole(const Ask& what, http::StreamedAnswer& answer) {
    std::string body;
    for (;;) {
      const std::string piece = co_await piece_of(what, answer, what.idle);
      if (piece.empty()) co_return body;
      body += piece;
      if (body.size() > service_->most_bytes) {
        throw Error(Errc::bad_reply, "It answered with more than " +
                                         std::to_string(service_->most_bytes) + " bytes.");
      }
    }
  }

  Said from_body(Ask& what, int status, const std::string& type, const std::string& body) {
    if (type == "application/json") {
      Said said = read_said(body);
      // An error about a message that it did not understand may have no id.
      const bool ours = said.id == std::to_string(what.id) || (status != 200 && said.id.empty());
      if (said.is_answer() && ours && (status == 200 || said.failed())) {
        if (status == 404 && !session_.empty()) forget_session(what);
        if (status >= 400 && status < 500) what.sent = false;
        return said;
      }
      throw Error(Errc::bad_reply, "It answered " + std::to_string(status) +
                                       " with a message that is no answer to the question.");
    }
    if (status >= 400 && status < 500) what.sent = false;  // it was not taken
    if (status == 404 && !session_.empty()) forget_session(what);
    std::string sentence = "It answered " + std::to_string(status);
    if (status >= 300 && status < 400) sentence += ", and redirects are not followed";
    if (!body.empty()) sentence += ": " + in_a_sentence(body, 200);
    throw Error(status == 200 ? Errc::bad_reply : Errc::io_failed, sentence + ".");
  }
  // It knows nothing of what was agreed upon, and has done nothing.
  void forget_session(Ask& what) {
    lost_session_ = true;
    what.sent = false;
    throw Error(Errc::io_failed, "It has forgotten the session.");
  }

  Task<Said> from_events(const Ask& what, http::StreamedAnswer& answer) {
    SseReader events;
    std::size_t bytes = 0;
    std::size_t since_event = 0;
    std::size_t unasked = 0;
    Time due = time_now() + what.idle;
    for (;;) {
      const Duration left = std::max(due - time_now(), Duration::zero());
      const std::string piece = co_await piece_of(what, answer, left);
      if (piece.empty()) throw Error(Errc::io_failed, "It ended its answer before it was whole.");
      bytes += piece.size();
      since_event += piece.size();
      if (bytes > service_->most_bytes + kMostUnaskedBytes) {
        throw Error(Errc::bad_reply, "It says more than anybody asked for.");
      }
      events.add(piece);
      while (const std::optional<std::string> event = events.next()) {
        since_event = 0;
        if (event->empty()) continue;
        Said said = read_said(*event);
        if (said.is_answer() && said.id == std::to_string(what.id)) co_return said;
        if (++unasked > kMostUnasked) {
          throw Error(Errc::bad_reply, "It says more than anybody asked for.");
        }
        if (take_unasked(said, what)) due = time_now() + what.idle;
      }
      if (since_event > service_->most_bytes) {
        throw Error(Errc::bad_reply, "It answered with more than " +
                                         std::to_string(service_->most_bytes) + " bytes.");
      }
    }
  }
  // True: the call goes on.
  bool take_unasked(const Said& said, const Ask& what) {
    if (said.is_answer()) return false;
    if (!said.id.empty()) {
      post_later(said.method == "ping" ? answer_text(said.id) : refusal_text(said.id, said.method));
      return false;
    }
    if (said.method == "notifications/tools/list_changed" && list_changed) list_changed();
    return said.method == "notifications/progress" &&
           said.params.raw("progressToken") == std::to_string(what.id);
  }

  // ---- What nobody waits for the answer of ----

  void post_later(std::string text) {
    if (posts_ >= kMostPosts) return;
    ++posts_;
    Scheduler::require("McpServer")
        .spawn(post_quietly, shared_from_this(), std::move(text))
        .named("tells a server of tools")
        .daemon();
  }
  static Task<void> post_quietly(std::shared_ptr<HttpLink> link, std::string text) {
    const Counted counted(*link);
    try {
      Task<void> posting = link->post(std::move(text));
      (void)co_await within(5s, std::move(posting));
    } catch (const Error&) {  // nobody waits for it
    } catch (const NotRetryable&) {
    }
  }
  Task<void> post(std::string text) {
    const std::string key = co_await service_->key.read();
    http::Request message = message_of(std::move(text), key);
    const http::StreamedAnswer answer = co_await service_->door.open(std::move(message));
  }
  struct Counted {
    explicit Counted(HttpLink& of) : link(of) {}
    ~Counted() { link.posts_ -= link.posts_ > 0 ? 1 : 0; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    HttpLink& link;
  };

  static Time time_now() { return Scheduler::require("McpServer").deadline_in(Duration::zero()); }

  static constexpr std::size_t kMostPosts = 16;
  ServicePtr service_;
  std::string version_{};  // of the handshake; empty: none, or not yet
  std::string session_{};
  bool lost_session_ = false;
  std::size_t posts_ = 0;
};

Task<std::shared_ptr<Link>> ready_link(ServicePtr service) {
  co_return std::make_shared<HttpLink>(std::move(service));
}

}  // namespace

std::function<Task<std::shared_ptr<Link>>()> service_of(const McpOptions& options) {
  EndpointUrl url = parse_endpoint_url(options.url, "/");
  if (!url.encrypted && !url.on_loopback()) {
    throw Error(Errc::bad_argument, "The URL of a server of tools, " + options.url +
                                        ", is without TLS and not on loopback: what is said there "
                                        "can be read and changed on the way. Use https.");
  }
  http::Headers headers;
  headers.add(options.key_header, "key");  // throws for what is no name
  const auto service = std::make_shared<Service>(options, std::move(url));
  return [service] { return ready_link(service); };
}

}  // namespace tiffany::agent::mcp

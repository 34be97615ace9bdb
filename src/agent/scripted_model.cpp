#include "tiffany/agent/scripted_model.hpp"

#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "agent/scripted_wire.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/sha256.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/durable/failures.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/serve/http_server.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::agent {

namespace {

constexpr std::int64_t kFirstTime = 1'700'000'000;  // of answers: seconds since 1970
constexpr std::size_t kMostCounted = 10'000;        // questions whose attempts are counted

http::Limits scripted_limits() {
  http::Limits limits;
  limits.body = std::size_t{64} << 20;  // a long conversation
  return limits;
}

http::Response json_answer(int status, std::string body) {
  return http::Response(status, "application/json", std::move(body));
}

// Ends the connection where it is: what the server does when a connection fails.
[[noreturn]] void drop_connection() {
  throw IoError(ECONNRESET, "write", "the connection", "The script says so.");
}

std::optional<Protocol> protocol_of(std::string_view path) {
  if (path.ends_with("/chat/completions")) return Protocol::chat;
  if (path.ends_with("/responses")) return Protocol::responses;
  return std::nullopt;
}

}  // namespace

class ScriptedModel::State final : public http::Handler {
 public:
  explicit State(Script what) : server(*this, scripted_limits()), script_(std::move(what)) {}

  Task<void> handle(http::Exchange& exchange) override;

  http::Server server;
  std::uint64_t questions = 0;

 private:
  // What is sent of an answer, and how.
  struct Answer {
    Answer() = default;
    std::vector<std::string> pieces{};
    std::size_t sent = 0;  // pieces; all, but for stall and cut
    bool streamed = false;
  };

  Task<void> answer(http::Exchange& exchange, Protocol protocol);
  Task<void> embed(http::Exchange& exchange);
  Task<void> refuse(http::Exchange& exchange, const ScriptEntry& entry) const;
  Task<void> send(http::Exchange& exchange, const ScriptEntry& entry, Answer answer, bool fails);
  static Answer make(const ScriptEntry& entry, const wire::Asked& asked, Protocol protocol,
                     const std::string& digest, bool fails);
  static void damage(Answer& made, const ScriptEntry& entry, bool fails);
  int count_attempt(const std::string& digest);

  Script script_;
  std::map<std::string, int> attempts_;
};

int ScriptedModel::State::count_attempt(const std::string& digest) {
  if (attempts_.size() >= kMostCounted) attempts_.clear();
  return ++attempts_[digest];
}

Task<void> ScriptedModel::State::handle(http::Exchange& exchange) {
  const http::Request& request = exchange.request();
  const std::optional<Protocol> protocol = protocol_of(request.path());
  if (request.method == "POST" && protocol) {
    co_await answer(exchange, *protocol);
  } else if (request.method == "POST" && request.path().ends_with("/embeddings")) {
    co_await embed(exchange);
  } else if (request.method == "GET" && request.path().ends_with("/models")) {
    http::Response models = json_answer(
        200, R"({"object":"list","data":[{"id":"script","object":"model","created":1700000000,)"
             R"("owned_by":"tiffany"}]})");
    co_await exchange.respond(std::move(models));
  } else {
    http::Response unknown =
        json_answer(404, wire::error_answer("A scripted model has POST /v1/chat/completions, POST "
                                            "/v1/responses, POST /v1/embeddings and GET "
                                            "/v1/models.",
                                            "invalid_request_error"));
    co_await exchange.respond(std::move(unknown));
  }
}

Task<void> ScriptedModel::State::answer(http::Exchange& exchange, Protocol protocol) {
  ++questions;
  const std::string& body = exchange.request().body;
  const std::string digest = sha256_hex(body).substr(0, 16);
  wire::Asked asked;
  const ScriptEntry* entry = nullptr;
  std::string mistake;
  try {
    asked = wire::read_asked(protocol, body);
    entry = &script_.pick(asked.request);
  } catch (const Error& error) {
    mistake = error.what();
  } catch (const NotRetryable& error) {
    mistake = error.what();
  }
  if (entry == nullptr) {
    http::Response refused = json_answer(400, wire::error_answer(mistake, "invalid_request_error"));
    co_await exchange.respond(std::move(refused));
    co_return;
  }
  const bool fails = entry->fails(count_attempt(digest));
  if (fails && entry->fault == Fault::status) {
    co_await refuse(exchange, *entry);
    co_return;
  }
  Answer made = make(*entry, asked, protocol, digest, fails);
  co_await send(exchange, *entry, std::move(made), fails);
}

Task<void> ScriptedModel::State::embed(http::Exchange& exchange) {
  ++questions;
  const std::string& body = exchange.request().body;
  wire::AskedEmbeddings asked;
  std::string mistake;
  try {
    asked = wire::read_asked_embeddings(body);
  } catch (const Error& error) {
    mistake = error.what();
  }
  if (!mistake.empty()) {
    http::Response refused = json_answer(400, wire::error_answer(mistake, "invalid_request_error"));
    co_await exchange.respond(std::move(refused));
    co_return;
  }
  const ScriptEntry none;
  const ScriptEntry* const met = script_.embeddings_fault(asked.texts, asked.model);
  const ScriptEntry& entry = met == nullptr ? none : *met;
  const bool fails = entry.fails(count_attempt(sha256_hex(body).substr(0, 16)));
  if (fails && entry.fault == Fault::status) {
    co_await refuse(exchange, entry);
    co_return;
  }
  Answer made;
  made.pieces.push_back(wire::embeddings_answer(asked, fails ? entry.fault : Fault::none));
  damage(made, entry, fails);
  co_await send(exchange, entry, std::move(made), fails);
}

Task<void> ScriptedModel::State::refuse(http::Exchange& exchange, const ScriptEntry& entry) const {
  const std::string sentence =
      script_.name() + " has the fault " + std::to_string(entry.status) + " here.";
  const bool theirs = entry.status < 500;
  http::Response refused = json_answer(
      entry.status, wire::error_answer(sentence, entry.status == 429 ? "rate_limit_error"
                                                 : theirs            ? "invalid_request_error"
                                                                     : "server_error"));
  if (entry.retry_after) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*entry.retry_after);
    refused.headers.set("retry-after", std::to_string(seconds.count()));
  }
  co_await exchange.respond(std::move(refused));
}

ScriptedModel::State::Answer ScriptedModel::State::make(const ScriptEntry& entry,
                                                        const wire::Asked& asked, Protocol protocol,
                                                        const std::string& digest, bool fails) {
  Reply reply = Script::reply(entry, asked.request);
  if (fails && entry.fault == Fault::truncated_arguments) {
    std::string& arguments = reply.message.calls.back().arguments;
    arguments.resize(arguments.size() / 2);
    if (arguments.empty()) arguments = "{";
  }
  wire::AnswerId id;
  id.digest = digest;
  id.time = kFirstTime + turn_of(asked.request);
  Answer made;
  made.streamed = asked.streamed;
  if (protocol == Protocol::chat && asked.streamed) {
    made.pieces = wire::chat_events(reply, id, asked.with_usage);
  } else if (protocol == Protocol::chat) {
    made.pieces.push_back(wire::chat_answer(reply, id));
  } else if (asked.streamed) {
    made.pieces = wire::response_events(reply, id);
  } else {
    made.pieces.push_back(wire::response_answer(reply, id));
  }
  damage(made, entry, fails);
  return made;
}

void ScriptedModel::State::damage(Answer& made, const ScriptEntry& entry, bool fails) {
  const std::size_t middle = made.pieces.size() / 2;
  std::string& half = made.pieces[middle];
  made.sent = made.pieces.size();
  if (fails && entry.fault == Fault::bad_utf8) {
    half.insert(half.find("{\"") + 2, "\xff\xfe");
  } else if (fails && (entry.fault == Fault::cut || entry.fault == Fault::stall)) {
    half.resize(half.size() / 2);
    made.sent = middle + 1;
  }
}

Task<void> ScriptedModel::State::send(http::Exchange& exchange, const ScriptEntry& entry,
                                      Answer answer, bool fails) {
  http::Response head(200);
  head.headers.set("content-type",
                   answer.streamed ? "text/event-stream; charset=utf-8" : "application/json");
  if (!fails && !answer.streamed) {
    if (entry.fault == Fault::slow) co_await sleep(entry.pause);
    head.body = std::move(answer.pieces.front());
    co_await exchange.respond(std::move(head));
    co_return;
  }
  if (answer.streamed) head.headers.set("cache-control", "no-cache");
  co_await exchange.begin(std::move(head));
  for (std::size_t i = 0; i < answer.sent; ++i) {
    if (entry.fault == Fault::slow) co_await sleep(entry.pause);
    co_await exchange.write(answer.pieces[i]);
  }
  if (fails && entry.fault == Fault::stall) {
    co_await within(entry.pause, exchange.closed());
    drop_connection();
  }
  if (fails && entry.fault == Fault::cut) drop_connection();
}

ScriptedModel::ScriptedModel(Script script) : state_(std::make_unique<State>(std::move(script))) {}
ScriptedModel::~ScriptedModel() = default;
Task<void> ScriptedModel::serve(Listener& listener) { return state_->server.serve(listener); }
void ScriptedModel::stop() noexcept { state_->server.stop(); }
std::uint64_t ScriptedModel::questions() const noexcept { return state_->questions; }

}  // namespace tiffany::agent

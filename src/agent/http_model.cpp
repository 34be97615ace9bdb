#include "tiffany/agent/http_model.hpp"

#include <optional>

#include "agent/endpoint_call.hpp"
#include "agent/sse_reader.hpp"
#include "agent/wire.hpp"
#include "tiffany/agent/script.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/scrub.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::agent {

class HttpModel::State {
 public:
  explicit State(Endpoint what)
      : call(what, what.protocol == Protocol::chat ? "/chat/completions" : "/responses") {}

  Task<Reply> ask(Request request, Try attempt, LiveText live);

  EndpointCall call;

 private:
  const Endpoint& endpoint() const noexcept { return call.endpoint(); }
  Task<void> read_answer(EndpointCall::Question& question, wire::Assembler& reply,
                         const LiveText& live);
};

Task<void> HttpModel::State::read_answer(EndpointCall::Question& question, wire::Assembler& reply,
                                         const LiveText& live) {
  http::StreamedAnswer answer = co_await call.open(question);
  const bool streamed = media_type(answer.head()) == "text/event-stream";
  SseReader events;
  std::string body;
  bool first = true;
  while (!reply.complete()) {
    const std::string piece = co_await call.read_piece(question, answer, first);
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
  EndpointCall::Question question;
  std::string body = endpoint().protocol == Protocol::chat
                         ? wire::chat_body(endpoint(), request)
                         : wire::responses_body(endpoint(), request);
  std::string accept = endpoint().streamed ? "text/event-stream" : "application/json";
  co_await call.prepare(question, std::move(accept), std::move(body), attempt.key);
  const std::unique_ptr<wire::Assembler> assembler = wire::assembler_of(endpoint().protocol);
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
      call.fail(Errc::model_failed,
                endpoint().protocol == Protocol::chat
                    ? "ended its reply before it said [DONE]: it was cut off."
                    : "ended its reply before response.completed: it was cut off.");
    }
    Reply reply = assembler->finish(turn_of(request));
    if (live) {
      const std::string rest = clean.finish();
      if (!rest.empty()) live(rest);
    }
    reply.message.text = question.secrets.scrubbed(reply.message.text);
    for (ToolCall& each : reply.message.calls) {
      each.arguments = question.secrets.scrubbed(each.arguments);
    }
    reply.message.tainted = is_tainted(request);
    reply.model = endpoint().name;
    co_return reply;
  } catch (const std::exception&) {
    call.pass_on(question);
  }
}

HttpModel::HttpModel(Endpoint endpoint) : state_(std::make_unique<State>(std::move(endpoint))) {}
HttpModel::~HttpModel() = default;
const Endpoint& HttpModel::endpoint() const noexcept { return state_->call.endpoint(); }

Task<Reply> HttpModel::ask(Request request, Try attempt, LiveText live) {
  Task<Reply> asking = state_->ask(std::move(request), std::move(attempt), std::move(live));
  auto done = co_await within(state_->call.endpoint().deadline, std::move(asking));
  if (done.timed_out()) {
    throw Error(Errc::model_failed, state_->call.about() + " did not end its reply within " +
                                        duration_text(state_->call.endpoint().deadline) + ".");
  }
  co_return std::move(done).value();
}

}  // namespace tiffany::agent

#include "tiffany/agent/embedder.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/endpoint_call.hpp"
#include "agent/wire_embeddings.hpp"
#include "tiffany/agent/memory.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/durable/failures.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::agent {

namespace {

// An agent waits for it before each of its notes.
constexpr Duration kLongestEmbedding = std::chrono::seconds(30);
// What failed later than this is not asked again: who hangs once hangs twice.
constexpr Duration kSoon = std::chrono::seconds(5);

Endpoint hastened(Endpoint endpoint) {
  endpoint.deadline = std::min(endpoint.deadline, kLongestEmbedding);
  endpoint.first_byte = std::min(endpoint.first_byte, endpoint.deadline);
  endpoint.idle = std::min(endpoint.idle, endpoint.deadline);
  return endpoint;
}

}  // namespace

class HttpEmbedder::State {
 public:
  State(Endpoint endpoint, const EmbedderOptions& what)
      : options(what),
        call(hastened(std::move(endpoint)), "/embeddings"),
        dimension_(what.dimensions) {}

  Task<std::vector<TextVector>> embed(std::vector<std::string> texts);

  EmbedderOptions options;
  EndpointCall call;

 private:
  // While a question finds out whether the endpoint answers again, no other one is asked.
  class Probe {
   public:
    Probe(State& state, bool needed) noexcept : state_(needed ? &state : nullptr) {
      if (state_ != nullptr) state_->probing_ = true;
    }
    ~Probe() {
      if (state_ != nullptr) state_->probing_ = false;
    }
    Probe(const Probe&) = delete;
    Probe& operator=(const Probe&) = delete;

   private:
    State* state_;
  };

  Task<std::vector<TextVector>> ask(const std::string& body, std::size_t texts);
  Task<std::vector<TextVector>> ask_in_time(const std::string& body, std::size_t texts);
  std::vector<TextVector> checked(const std::string& body, std::size_t texts);
  void require_open() const;
  void note_failure();

  std::size_t dimension_;  // of the vectors so far; 0: there were none
  int failures_ = 0;       // in a row
  Time closed_until_{};
  bool probing_ = false;
};

void HttpEmbedder::State::require_open() const {
  const Duration rest = std::max<Duration>(closed_until_ - now(), std::chrono::seconds(1));
  if (!probing_ && closed_until_ <= now()) return;
  call.fail(Errc::model_failed,
            "is not asked for " + duration_text(rest) + ", because it failed or asked to wait.");
}

void HttpEmbedder::State::note_failure() {
  if (++failures_ >= options.failures) closed_until_ = now() + options.pause;
}

std::vector<TextVector> HttpEmbedder::State::checked(const std::string& body, std::size_t texts) {
  std::vector<TextVector> vectors;
  for (const std::vector<float>& each : wire::read_embeddings(body, texts)) {
    if (dimension_ != 0 && each.size() != dimension_) {
      throw Error(Errc::bad_reply,
                  "It gave a vector of " + std::to_string(each.size()) + " numbers, and " +
                      std::to_string(dimension_) + " " +
                      (options.dimensions > 0 ? "were asked for." : "is what it gave before."));
    }
    vectors.push_back(quantized(each));
  }
  dimension_ = vectors.empty() ? dimension_ : vectors.front().size();
  return vectors;
}

Task<std::vector<TextVector>> HttpEmbedder::State::ask(const std::string& body, std::size_t texts) {
  EndpointCall::Question question;
  co_await call.prepare(question, "application/json", body, body);
  try {
    http::StreamedAnswer answer = co_await call.open(question);
    if (media_type(answer.head()) != "application/json") {
      call.fail(Errc::bad_reply, "answers with a stream of events instead of JSON.");
    }
    std::string all;
    for (bool first = true;; first = false) {
      const std::string piece = co_await call.read_piece(question, answer, first);
      if (piece.empty()) break;
      all += piece;
    }
    co_return checked(all, texts);
  } catch (const std::exception&) {
    call.pass_on(question);
  }
}

Task<std::vector<TextVector>> HttpEmbedder::State::ask_in_time(const std::string& body,
                                                               std::size_t texts) {
  const Duration deadline = call.endpoint().deadline;
  Task<std::vector<TextVector>> asking = ask(body, texts);
  auto done = co_await within(deadline, std::move(asking));
  if (done.timed_out()) {
    call.fail(Errc::model_failed, "did not end its reply within " + duration_text(deadline) + ".");
  }
  co_return std::move(done).value();
}

Task<std::vector<TextVector>> HttpEmbedder::State::embed(std::vector<std::string> texts) {
  if (texts.empty() || texts.size() > kMostTexts) {
    throw Error(Errc::bad_argument, "1 to " + std::to_string(kMostTexts) +
                                        " texts are embedded at a time, and not " +
                                        std::to_string(texts.size()) + ".");
  }
  if (options.secrets != nullptr) {
    for (std::string& each : texts) each = options.secrets->scrubbed(each);
  }
  const std::string body = wire::embeddings_body(call.endpoint().model, texts, options.dimensions);
  for (bool last = false;; last = true) {
    require_open();
    const Probe probe(*this, failures_ >= options.failures);
    const Time begun = now();
    Duration pause{};
    try {
      std::vector<TextVector> vectors = co_await ask_in_time(body, texts.size());
      failures_ = 0;
      co_return vectors;
    } catch (const RetryAfter& error) {
      if (last || error.delay() > options.patience) {
        closed_until_ = now() + error.delay();
        throw;
      }
      pause = error.delay();
    } catch (const Error&) {
      note_failure();
      if (last || closed_until_ > now() || now() - begun > kSoon) throw;
    }
    if (pause > Duration::zero()) co_await sleep(pause);
  }
}

HttpEmbedder::HttpEmbedder(Endpoint endpoint, EmbedderOptions options)
    : state_(std::make_unique<State>(std::move(endpoint), options)) {
  if (options.dimensions > MemoryLimits::kDimension) {
    throw Error(Errc::bad_argument,
                "A vector has at most " + std::to_string(MemoryLimits::kDimension) + " numbers.");
  }
}
HttpEmbedder::~HttpEmbedder() = default;
const std::string& HttpEmbedder::name() const noexcept { return state_->call.endpoint().model; }

Task<std::vector<TextVector>> HttpEmbedder::embed(std::vector<std::string> texts) {
  return state_->embed(std::move(texts));
}

}  // namespace tiffany::agent

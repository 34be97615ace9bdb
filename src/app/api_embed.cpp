// Vectors for notes that have none: of the time before there was an endpoint, of another model, or
// written down while the endpoint did not answer.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/agents.hpp"
#include "app/api.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/durable/failures.hpp"
#include "tiffany/io/offload.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

constexpr std::size_t kEmbeddedTogether = 32;  // texts of a question
constexpr int kEmbeddedPages = 8;              // of a request: who has more to do asks again

using NoteVectors = std::vector<agent::MemoryVector>;

// One request, on its way through the notes.
class Embedding {
 public:
  Embedding(std::shared_ptr<agent::Memory> memory, std::shared_ptr<agent::Embedder> embedder,
            std::int64_t after)
      : memory_(std::move(memory)), embedder_(std::move(embedder)), next_(after) {}

  Task<void> run();
  std::string json() const;

 private:
  Task<std::vector<agent::TextVector>> embed(std::vector<std::string> texts);
  Task<void> embed_page(std::vector<agent::Recalled> notes);
  Task<void> store(NoteVectors vectors);

  std::shared_ptr<agent::Memory> memory_;
  std::shared_ptr<agent::Embedder> embedder_;
  std::int64_t next_;
  std::size_t dimension_ = 0;
  std::int64_t embedded_ = 0;
  std::int64_t refused_ = 0;
  std::int64_t left_ = 0;
  std::string why_;  // of the first that was refused
};

// What was embedded before a failure is stored: the request is made again.
Task<std::vector<agent::TextVector>> Embedding::embed(std::vector<std::string> texts) {
  std::string failure;
  try {
    co_return co_await embedder_->embed(std::move(texts));
  } catch (const NotRetryable&) {
    throw;
  } catch (const std::exception& error) {
    failure = error.what();
  }
  throw HttpError(502, failure + " " + std::to_string(embedded_) +
                           " notes were embedded before. Try again later.");
}

Task<void> Embedding::store(NoteVectors vectors) {
  const auto there = [](std::shared_ptr<agent::Memory> in, std::string model, NoteVectors all) {
    return in->embed(model, all);
  };
  const std::string model = embedder_->name();
  const std::int64_t stored = co_await offload(there, memory_, model, std::move(vectors));
  embedded_ += stored;
}

// A text that is refused, for it is too long or against the rules of the endpoint, does not stand
// in the way of others: then each is asked for by itself.
Task<void> Embedding::embed_page(std::vector<agent::Recalled> notes) {
  std::vector<std::string> texts;
  for (const agent::Recalled& each : notes) texts.push_back(each.text);
  std::string refusal;
  NoteVectors made;
  try {
    std::vector<agent::TextVector> vectors = co_await embed(std::move(texts));
    for (std::size_t i = 0; i < notes.size(); ++i) {
      agent::MemoryVector& one = made.emplace_back();
      one.id = notes[i].id;
      one.vector = std::move(vectors.at(i));
    }
  } catch (const NotRetryable& error) {
    refusal = error.what();
  }
  if (refusal.empty()) {
    co_await store(std::move(made));
  } else if (notes.size() == 1) {
    ++refused_;
    if (why_.empty()) why_ = refusal;
  } else {
    for (agent::Recalled& each : notes) {
      std::vector<agent::Recalled> alone;
      alone.push_back(std::move(each));
      co_await embed_page(std::move(alone));
    }
  }
}

Task<void> Embedding::run() {
  const std::int64_t now_us = World::current().wall_clock_us().value_or(0);
  // A word alone says how many numbers the vectors have by now; an endpoint that takes none at all
  // refuses it, too.
  std::vector<std::string> word(1, "dimension");
  std::string refusal;
  try {
    const std::vector<agent::TextVector> vectors = co_await embed(std::move(word));
    dimension_ = vectors.at(0).size();
  } catch (const NotRetryable& error) {
    refusal = error.what();
  }
  if (!refusal.empty()) throw HttpError(502, refusal);
  const auto look = [](std::shared_ptr<agent::Memory> in, std::string model, std::size_t dimension,
                       std::int64_t now, std::int64_t after) {
    return in->without_vector(model, dimension, now, after, kEmbeddedTogether);
  };
  const std::string model = embedder_->name();
  for (int i = 0; i < kEmbeddedPages; ++i) {
    agent::MemoryPage page = co_await offload(look, memory_, model, dimension_, now_us, next_);
    next_ = page.next;
    if (!page.notes.empty()) co_await embed_page(std::move(page.notes));
    if (next_ == 0) break;
  }
  const auto count = [](std::shared_ptr<agent::Memory> in, std::string of, std::size_t dimension,
                        std::int64_t now) { return in->count_without_vector(of, dimension, now); };
  left_ = co_await offload(count, memory_, model, dimension_, now_us);
}

std::string Embedding::json() const {
  return json_text([&](JsonWriter& out) {
    out.begin_object();
    out.member("done", "embed");
    out.member("model", embedder_->name());
    out.member("dimension", dimension_);
    out.member("embedded", embedded_);
    out.member("refused", refused_);
    if (!why_.empty()) out.member("why", why_);
    out.member("left", left_);
    out.member("next", next_);
    out.end_object();
  });
}

}  // namespace

namespace calls {

Task<Response> embed_notes(ApiCall& call) {
  const std::shared_ptr<agent::Memory> memory = call.api.parts.agents.memory();
  const std::shared_ptr<agent::Embedder> embedder = call.api.parts.agents.embedder();
  if (memory == nullptr || embedder == nullptr) {
    throw HttpError(404,
                    "The agents of this daemon have no embeddings: name an endpoint as "
                    "`embeddings` in the file of the setting `agents`.");
  }
  constexpr std::uint64_t kMostKey = std::uint64_t{1} << 62U;
  const auto after = static_cast<std::int64_t>(call.query_number("after", 0, kMostKey));
  Embedding embedding(memory, embedder, after);
  co_await embedding.run();
  co_return json_answer(200, embedding.json());
}

}  // namespace calls

}  // namespace tiffany::app

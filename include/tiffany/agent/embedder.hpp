// Texts as vectors of numbers, so that notes (agent/memory.hpp) are found by what they mean.
//
//   Endpoint endpoint("http://127.0.0.1:8080/v1", "all-minilm");
//   HttpEmbedder embedder(std::move(endpoint));
//   std::vector<TextVector> vectors = co_await embedder.embed({"The tests need a display."});
//
// Vectors are compared with those of the same name and as many numbers only: two models have
// nothing to do with one another.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tiffany/agent/http_model.hpp"
#include "tiffany/base/scrub.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany::agent {

using TextVector = std::vector<std::int8_t>;  // as quantized() gives it (agent/memory.hpp)

class Embedder {
 public:
  virtual ~Embedder() = default;
  // What made the vectors; not empty.
  virtual const std::string& name() const noexcept = 0;
  // One vector for each text, in their order, all of one dimension. At most kMostTexts. Throws what
  // Model::ask throws. Cancel: the connection is closed.
  virtual Task<std::vector<TextVector>> embed(std::vector<std::string> texts) = 0;

  static constexpr std::size_t kMostTexts = 64;
};

class EmbedderOptions {
 public:
  EmbedderOptions() = default;
  std::size_t dimensions = 0;  // that are asked for, and required; 0: as many as the model has
  // After so many failures in a row nothing is asked for `pause`; then one question tries it.
  int failures = 3;
  Duration pause = std::chrono::seconds(30);
  // A question is asked twice at most: again at once after a failure that came within five
  // seconds, and when the endpoint asks to wait no longer than this. Who waits is an agent.
  Duration patience = std::chrono::seconds(2);
  const Scrubber* secrets = nullptr;  // taken out of texts; outlives the embedder
};

// POST <url>/embeddings, as OpenAI's. The limits of time are those of the endpoint; 30 seconds for
// all of it, unless `deadline` is less. Errors as HttpModel's; model_failed also while nothing is
// asked after failures; bad_reply for an answer with another count of vectors, another dimension
// than before, a vector of zeros, or what is no number.
//
// Lifetime: outlives its questions. Thread safety: none; any number of questions at a time on one
// scheduler.
class HttpEmbedder final : public Embedder {
 public:
  // Throws as HttpModel().
  explicit HttpEmbedder(Endpoint endpoint, EmbedderOptions options = EmbedderOptions());
  ~HttpEmbedder() override;
  const std::string& name() const noexcept override;
  Task<std::vector<TextVector>> embed(std::vector<std::string> texts) override;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace tiffany::agent

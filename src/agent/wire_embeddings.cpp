#include "agent/wire_embeddings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "agent/wire_parts.hpp"
#include "tiffany/agent/memory.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany::agent::wire {

namespace {

using FloatVector = std::vector<float>;

[[noreturn]] void bad_embeddings(const std::string& sentence) {
  throw Error(Errc::bad_reply, sentence);
}

struct OneEmbedding {
  std::optional<std::int64_t> index{};
  std::optional<FloatVector> vector{};
};

FloatVector read_numbers(JsonReader& in) {
  FloatVector vector;
  if (in.kind() != JsonKind::array) bad_embeddings("It gave a vector that is no list of numbers.");
  in.begin_array();
  while (in.next_element()) {
    if (vector.size() == MemoryLimits::kDimension) {
      bad_embeddings("It gave a vector of more than " + std::to_string(MemoryLimits::kDimension) +
                     " numbers.");
    }
    if (in.kind() != JsonKind::number) bad_embeddings("It gave a vector with what is no number.");
    const auto number = static_cast<float>(in.number());
    if (!std::isfinite(number)) bad_embeddings("It gave a vector with a number beyond all bounds.");
    vector.push_back(number);
  }
  const auto is_zero = [](float each) { return each == 0; };
  if (std::all_of(vector.begin(), vector.end(), is_zero)) {
    bad_embeddings("It gave a vector without a direction: empty, or of zeros.");
  }
  return vector;
}

OneEmbedding read_one(JsonReader& in) {
  OneEmbedding one;
  members(in, [&](std::string_view name) {
    if (name == "embedding") {
      one.vector = read_numbers(in);
    } else if (name == "index") {
      one.index = count_or_nothing(in);
    } else {
      in.raw();
    }
  });
  return one;
}

}  // namespace

std::string embeddings_body(const std::string& model, const std::vector<std::string>& texts,
                            std::size_t dimensions) {
  std::string body;
  JsonWriter out(body);
  out.begin_object();
  out.member("model", model);
  out.key("input");
  out.begin_array();
  for (const std::string& each : texts) out.value(each);
  out.end_array();
  out.member("encoding_format", "float");
  if (dimensions > 0) out.member("dimensions", dimensions);
  out.end_object();
  return body;
}

std::vector<FloatVector> read_embeddings(std::string_view body, std::size_t texts) {
  std::vector<std::optional<FloatVector>> found(texts);
  std::size_t count = 0;
  JsonReader in(body);
  members(in, [&](std::string_view name) {
    if (name != "data") {
      in.raw();
      return;
    }
    elements(in, [&] {
      OneEmbedding one = read_one(in);
      if (!one.vector) bad_embeddings("It gave an element of \"data\" without an embedding.");
      const auto place = static_cast<std::size_t>(
          one.index.value_or(static_cast<std::int64_t>(std::min(count, texts))));
      if (place >= texts || found[place]) {
        bad_embeddings("It gave a vector for a text that was not asked for, or two for one text.");
      }
      found[place] = std::move(*one.vector);
      ++count;
    });
  });
  in.end();
  if (count != texts) {
    bad_embeddings("It gave " + std::to_string(count) + " vectors for " + std::to_string(texts) +
                   " texts.");
  }
  std::vector<FloatVector> vectors;
  for (std::optional<FloatVector>& each : found) {
    if (!vectors.empty() && vectors.front().size() != each->size()) {
      bad_embeddings("It gave vectors of " + std::to_string(vectors.front().size()) + " and of " +
                     std::to_string(each->size()) + " numbers in one answer.");
    }
    vectors.push_back(std::move(*each));
  }
  return vectors;
}

}  // namespace tiffany::agent::wire

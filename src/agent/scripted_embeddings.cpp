// Embeddings of a scripted model: vectors that are made of words.
#include <bit>
#include <cmath>
#include <cstdint>

#include "agent/scripted_wire.hpp"
#include "agent/wire_parts.hpp"
#include "tiffany/agent/memory.hpp"
#include "tiffany/base/base64.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany::agent::wire {

namespace {

constexpr std::size_t kMostAskedTexts = 2048;  // as OpenAI has it
constexpr std::uint64_t kFnvStart = 0xcbf29ce484222325U;
constexpr std::uint64_t kFnvPrime = 0x100000001b3U;

bool is_letter(char c) noexcept {
  return static_cast<unsigned char>(c) >= 0x80U || (c >= '0' && c <= '9') ||
         (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

void count_word(std::string_view word, std::vector<float>& vector) {
  std::uint64_t hash = kFnvStart;
  for (const char c : word) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    hash = (hash ^ static_cast<unsigned char>(lower)) * kFnvPrime;
  }
  hash ^= hash >> 32U;  // the lowest bits alone are poor
  vector[(hash >> 1U) % vector.size()] += (hash & 1U) != 0 ? 1.0F : -1.0F;
}

[[noreturn]] void refuse_embeddings(const std::string& sentence) {
  throw Error(Errc::bad_argument, sentence);
}

std::string asked_text(JsonReader& in) {
  if (in.kind() != JsonKind::string) {
    refuse_embeddings("A scripted model embeds texts, and no lists of tokens.");
  }
  std::string text = in.string();
  if (text.empty()) refuse_embeddings("An input of embeddings is empty.");
  return text;
}

void read_embeddings_input(JsonReader& in, AskedEmbeddings& asked) {
  if (in.kind() != JsonKind::array) {
    asked.texts.push_back(asked_text(in));
    return;
  }
  elements(in, [&] {
    if (asked.texts.size() == kMostAskedTexts) refuse_embeddings("These are too many inputs.");
    asked.texts.push_back(asked_text(in));
  });
}

std::string as_floats(const std::vector<float>& vector) {
  std::string bytes;
  for (const float each : vector) {
    const auto bits = std::bit_cast<std::uint32_t>(each);
    for (unsigned shift = 0; shift < 32; shift += 8) {
      bytes += static_cast<char>((bits >> shift) & 0xFFU);
    }
  }
  return to_base64(bytes);
}

}  // namespace

AskedEmbeddings read_asked_embeddings(std::string_view body) {
  AskedEmbeddings asked;
  JsonReader in(body);
  if (in.kind() != JsonKind::object) in.fail("an object", in.offset());
  members(in, [&](std::string_view name) {
    if (name == "model") {
      asked.model = string_or_nothing(in);
    } else if (name == "input") {
      read_embeddings_input(in, asked);
    } else if (name == "dimensions") {
      const std::int64_t count = count_or_nothing(in);
      if (count < 1 || count > static_cast<std::int64_t>(MemoryLimits::kDimension)) {
        refuse_embeddings("\"dimensions\" is a whole number from 1 to 4096.");
      }
      asked.dimensions = static_cast<std::size_t>(count);
    } else if (name == "encoding_format") {
      asked.base64 = string_or_nothing(in) == "base64";
    } else {
      in.raw();
    }
  });
  in.end();
  if (asked.texts.empty()) refuse_embeddings("There is no \"input\" to embed.");
  return asked;
}

std::vector<float> vector_of_words(std::string_view text, std::size_t dimensions) {
  std::vector<float> vector(dimensions);
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    if (end > at) count_word(text.substr(at, end - at), vector);
    at = end + 1;
  }
  float square = 0;
  for (const float each : vector) square += each * each;
  if (square == 0) {  // no word, or words that cancel one another out
    count_word(text, vector);
    square = 1;
  }
  for (float& each : vector) each /= std::sqrt(square);
  return vector;
}

std::string embeddings_answer(const AskedEmbeddings& asked, Fault fault) {
  std::string text;
  JsonWriter out(text);
  std::size_t bytes = 0;
  out.begin_object();
  out.member("object", "list");
  out.key("data");
  out.begin_array();
  for (std::size_t i = 0; i < asked.texts.size(); ++i) {
    bytes += asked.texts[i].size();
    const bool last = i + 1 == asked.texts.size();
    if (last && fault == Fault::one_less) break;
    std::vector<float> vector = vector_of_words(asked.texts[i], asked.dimensions);
    if (last && fault == Fault::dimension) vector.push_back(1);
    if (last && fault == Fault::zeros) vector.assign(vector.size(), 0);
    out.begin_object();
    out.member("object", "embedding");
    out.member("index", i);
    out.key("embedding");
    if (asked.base64) {
      out.value(as_floats(vector));
    } else {
      out.begin_array();
      for (const float each : vector) out.value(each);
      if (last && fault == Fault::not_a_number) out.null();
      out.end_array();
    }
    out.end_object();
  }
  out.end_array();
  out.member("model", asked.model);
  const std::size_t tokens = (bytes + 3) / 4;
  out.key("usage");
  out.begin_object();
  out.member("prompt_tokens", tokens);
  out.member("total_tokens", tokens);
  out.end_object();
  out.end_object();
  return text;
}

}  // namespace tiffany::agent::wire

// The server's side of the two protocols: a body as a Request, and a Reply as events or a body.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tiffany/agent/http_model.hpp"
#include "tiffany/agent/model.hpp"
#include "tiffany/agent/script.hpp"

namespace tiffany::agent::wire {

class Asked {
 public:
  Asked() = default;
  Request request{};
  bool streamed = false;
  bool with_usage = false;  // of a stream of chat
};
// Error (bad_json) for what is no such body.
Asked read_asked(Protocol protocol, std::string_view body);

// What identifies an answer: the same for the same question.
struct AnswerId {
  std::string digest{};  // hexadecimal digits
  std::int64_t time = 0;
};
std::vector<std::string> chat_events(const Reply& reply, const AnswerId& id, bool with_usage);
std::string chat_answer(const Reply& reply, const AnswerId& id);
std::vector<std::string> response_events(const Reply& reply, const AnswerId& id);
std::string response_answer(const Reply& reply, const AnswerId& id);
std::string error_answer(std::string_view sentence, std::string_view type);

// A question for embeddings, as the server reads it.
class AskedEmbeddings {
 public:
  AskedEmbeddings() = default;
  std::string model{};
  std::vector<std::string> texts{};
  std::size_t dimensions = 256;
  bool base64 = false;  // of little-endian floats, instead of lists of numbers
};
// Error (bad_json, bad_argument) for what is no such body.
AskedEmbeddings read_asked_embeddings(std::string_view body);
// The same vector for the same words, whatever their order and case: each word is counted at a
// place, with a sign, both made of its bytes. Of length 1.
std::vector<float> vector_of_words(std::string_view text, std::size_t dimensions);
std::string embeddings_answer(const AskedEmbeddings& asked, Fault fault);

// Parts of JSON text of a few bytes each, never within a character.
std::vector<std::string_view> small_pieces(std::string_view text);

}  // namespace tiffany::agent::wire

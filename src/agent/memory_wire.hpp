// What the tools of the memory answer, as JSON: the model reads it, and a rebuild of the memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tiffany/agent/memory.hpp"
#include "tiffany/base/codec.hpp"

namespace tiffany::agent {

inline constexpr const char* kRememberTool = "remember";
inline constexpr const char* kRecallTool = "recall";

struct RememberedText {
  std::string id{};
  Note note{};
};
TIFFANY_JSON(RememberedText, id, note);

struct RecalledText {
  std::string id{};
  std::string kind{};
  std::string text{};
  std::string made{};
  std::vector<Origin> from{};
};
TIFFANY_JSON(RecalledText, id, kind, text, made, from);

struct RecalledTexts {
  std::string about{};
  std::vector<RecalledText> notes{};
  int left_out = 0;  // for want of room
  std::int64_t now_us = 0;
};
TIFFANY_JSON(RecalledTexts, about, notes, left_out, now_us);

// What the log has of a call besides its answer: so that a rebuild needs no endpoint.
struct KeptVector {
  std::string model{};
  std::string vector{};   // of a note, in base64
  std::string digest{};   // of the vector of a question, 16 digits of SHA-256
  std::string missing{};  // why there is none
};
TIFFANY_JSON(KeptVector, model, vector, digest, missing);
TIFFANY_JSON_ADDED(KeptVector, vector, digest, missing);

}  // namespace tiffany::agent

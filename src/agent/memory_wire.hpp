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

}  // namespace tiffany::agent

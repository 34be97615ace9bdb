// Lists in texts: "one, two".
#pragma once

#include <algorithm>
#include <string_view>

namespace tiffany {

// Calls f(word) for each word between commas, without the blanks around it; not for empty ones.
template <class F>
void for_each_listed(std::string_view text, F f) {
  const auto blank = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty()) {
    std::string_view word = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    while (!word.empty() && blank(word.front())) word.remove_prefix(1);
    while (!word.empty() && blank(word.back())) word.remove_suffix(1);
    if (!word.empty()) f(word);
  }
}

}  // namespace tiffany

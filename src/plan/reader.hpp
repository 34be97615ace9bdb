// Reads values of known shapes out of a document, and notes what is wrong with them instead of
// stopping.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/document.hpp"

namespace tiffany::plan {

class Reader {
 public:
  explicit Reader(std::vector<Mistake>& mistakes) : mistakes_(mistakes) {}

  // Nothing more when there are kMostMistakes already: ask full() before a search for more.
  void complain(const Node& at, std::string sentence);
  bool full() const noexcept { return mistakes_.size() >= kMostMistakes; }

  // The members of a map. Notes a node that is none, a key twice, and a key that is not in `known`,
  // with the one that was meant. `what` is "The step \"build\"".
  bool require_map(const Node& node, const std::string& what,
                   const std::vector<std::string_view>& known);
  static const Node* member(const Node& map, std::string_view key);

  // Each gives nothing, or what was there before, for what is wrong.
  std::string text(const Node& node, const std::string& what);
  std::vector<std::string> texts(const Node& node, const std::string& what, std::size_t most);
  // A list, or a single one.
  std::vector<std::string> names(const Node& node, const std::string& what);
  bool flag(const Node& node, const std::string& what);
  std::int64_t whole(const Node& node, const std::string& what, std::int64_t least,
                     std::int64_t most, std::int64_t otherwise);
  double number(const Node& node, const std::string& what, double least, double most,
                double otherwise);
  // 500ms, 30s, 5m, 2h, 1d, and several of these: 1h30m. In milliseconds.
  std::int64_t duration(const Node& node, const std::string& what, std::int64_t otherwise);
  // 64k, 10M, 2G, or bytes.
  std::uint64_t size(const Node& node, const std::string& what, std::uint64_t otherwise);
  // Names of steps, parameters, outputs, locks, variables: a letter or '_', then letters, digits,
  // '_' and '-'.
  bool require_name(const Node& node, const std::string& name, const std::string& what);

 private:
  std::vector<Mistake>& mistakes_;
};

// The known word that is most like this one, in a sentence with a blank before it; empty: none is
// like it.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace tiffany::plan

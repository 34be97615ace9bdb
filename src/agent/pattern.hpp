// Regular expressions over lines, in time that is at most the length of the line times that of the
// pattern, and without recursion over the text: what a model writes may be searched for.
//
//   const Pattern pattern("fn +\\w+\\(", false);
//   pattern.found_in(line)
//
// Literals, '.', classes ([a-z], [^0-9], \d \w \s and \D \W \S), anchors ^ $ and \b, groups,
// alternatives, and the repetitions * + ? and {n}, {n,}, {n,m} up to 100. No captures, no
// references back, no lookaround: these are refused with a sentence. Bytes are compared, so '.' is
// one byte of UTF-8; without case means that of ASCII.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tiffany::agent {

class Pattern {
 public:
  // An Error bad_tool for what is not understood.
  Pattern(std::string_view text, bool ignore_case);
  static Pattern literal(std::string_view text, bool ignore_case);

  bool found_in(std::string_view line) const;

  using Bytes = std::bitset<256>;
  struct Op {
    enum class Kind : std::uint8_t { bytes, split, jump, line_begin, line_end, word_edge, match };
    Kind kind = Kind::match;
    std::uint32_t first = 0;   // where it goes on; of `bytes`, which set
    std::uint32_t second = 0;  // of a split
  };

 private:
  Pattern() = default;
  void add(std::vector<std::uint32_t>& threads, std::vector<std::uint32_t>& seen,
           std::vector<std::uint32_t>& pending, std::uint32_t mark, std::uint32_t at,
           std::string_view line, std::size_t place) const;

  std::vector<Op> ops_;
  std::vector<Bytes> sets_;
  Bytes begins_;           // bytes that a match can begin with
  bool anywhere_ = false;  // a match may be empty, or begin with an anchor
};

}  // namespace tiffany::agent

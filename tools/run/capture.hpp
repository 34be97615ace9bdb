// What a command writes to one of its two streams, in a file of a bounded size: its first bytes and
// its last.
//
// While the command runs, <name> has the first half of the limit, <name>.tail what came last, and
// <name>.tail.old what came before that. finish() joins them in <name>.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "files.hpp"

namespace tiffany::supervisor {

class Capture {
 public:
  Capture(const CommandDirectory& directory, std::string name, std::uint64_t limit);
  void add(std::string_view bytes);
  void finish();
  // Bytes that are not in the file.
  std::uint64_t dropped() const noexcept { return dropped_; }
  // A disk that took no more; empty: none.
  const std::string& trouble() const noexcept { return trouble_; }

 private:
  void append(const Fd& to, std::string_view bytes);
  Fd open(const std::string& name) const;
  void open_tail();

  const CommandDirectory& directory_;
  std::string name_;
  std::uint64_t head_most_;
  std::uint64_t tail_most_;
  std::uint64_t head_size_ = 0;
  std::uint64_t tail_size_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t lost_ = 0;
  std::uint64_t dropped_ = 0;
  std::string trouble_;
  Fd head_;
  Fd tail_;
};

}  // namespace tiffany::supervisor

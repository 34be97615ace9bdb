// Contents of files that are written together: a few as loose objects, many as one pack. A loose
// object is synced by itself, which takes milliseconds; a pack is synced once.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "agent/git.hpp"

namespace tiffany::agent {

class BlobPack {
 public:
  explicit BlobPack(std::string repository) : repository_(std::move(repository)) {}

  // Gives the id; the object is in the repository after the next flush().
  git_oid add(std::string bytes);
  void flush();

 private:
  static constexpr std::size_t kFewest = 16;                        // of a pack
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;  // that are held in memory
  void write_loose(git_odb* odb);
  void write_pack(git_repository* repository, git_odb* odb);

  std::string repository_;
  std::vector<std::pair<git_oid, std::string>> held_;
  std::size_t bytes_ = 0;
};

}  // namespace tiffany::agent

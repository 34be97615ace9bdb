// The ids of tasks that have left the archive, in the file `retired.ids` beside it, so that no
// start takes one of them for a new task.
//
// The file is written anew whenever ids are added, and then takes the place of the one before: a
// crash leaves the one or the other. It holds a header and one entry for each id, the oldest first,
// all of twenty bytes:
//
//   header   "TIFFANY-IDS1", the number of entries (four bytes, little-endian), the CRC-32C of
//            these sixteen bytes
//   entry    the sixteen bytes of the id, their CRC-32C, which begins with the number of the entry
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tiffany/base/uuid.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/wal/disk.hpp"

namespace tiffany::wal {

class RetiredIds {
 public:
  // Reads the file, if there is one. What is wrong with it is kept in damage().
  void load(Disk& disk, const std::string& directory);
  bool contains(const Uuid& id) const noexcept;
  std::size_t size() const noexcept { return oldest_first_.size(); }
  // A sentence; empty when nothing is wrong.
  const std::string& damage() const noexcept { return damage_; }
  // They are on the disk when it returns. Gives how many of the oldest are known no more.
  Task<std::size_t> add(std::vector<Uuid> ids, std::size_t most);

 private:
  void read(std::string_view bytes);
  std::string bytes_of(const std::vector<Uuid>& ids) const;

  Disk* disk_ = nullptr;
  std::string directory_;
  std::vector<Uuid> oldest_first_;
  std::vector<Uuid> sorted_;
  std::string damage_;
};

}  // namespace tiffany::wal

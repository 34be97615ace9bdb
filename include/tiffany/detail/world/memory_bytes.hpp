// The bytes of a file in memory, of which those that were synced survive a loss of power. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tiffany::world {

class MemoryBytes {
 public:
  const std::string& all() const noexcept { return bytes_; }
  std::size_t size() const noexcept { return bytes_.size(); }
  // Zeros fill what lies between the end of the file and `at`.
  void write(std::uint64_t at, std::string_view text);
  // As write(), of bytes that survive at once, with the length that the file has then.
  void write_kept(std::uint64_t at, std::string_view text);
  void resize(std::uint64_t size);
  // A shorter length survives at once; a file is never made longer by this.
  void shorten(std::uint64_t size);
  void sync() noexcept;
  // Back to what was synced last.
  void lose_unsynced();
  // For tests that damage a file: what is there afterwards is synced.
  template <class F>
  void edit(F&& change) {
    change(bytes_);
    synced_size_ = bytes_.size();
  }

 private:
  std::string bytes_;
  std::size_t synced_size_ = 0;
  // What was there before each write that is not synced, below synced_size_.
  std::vector<std::pair<std::size_t, std::string>> before_;
};

}  // namespace tiffany::world

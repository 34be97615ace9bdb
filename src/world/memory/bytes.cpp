#include <algorithm>

#include "tiffany/detail/world/memory_bytes.hpp"

namespace tiffany::world {

void MemoryBytes::write(std::uint64_t at, std::string_view text) {
  if (text.empty()) return;
  if (bytes_.size() < at + text.size()) bytes_.resize(at + text.size());
  const std::size_t old = at < synced_size_ ? std::min(text.size(), synced_size_ - at) : 0;
  if (old > 0) before_.emplace_back(at, bytes_.substr(at, old));
  bytes_.replace(at, text.size(), text);
}

void MemoryBytes::write_kept(std::uint64_t at, std::string_view text) {
  if (bytes_.size() < at + text.size()) bytes_.resize(at + text.size());
  bytes_.replace(at, text.size(), text);
  synced_size_ = bytes_.size();
}

// Cut-off bytes are kept as a write would keep them: until a sync they can come back.
void MemoryBytes::resize(std::uint64_t size) {
  if (size < synced_size_) {
    const auto end = std::min<std::size_t>(synced_size_, bytes_.size());
    if (size < end) before_.emplace_back(size, bytes_.substr(size, end - size));
  }
  bytes_.resize(size);
}

void MemoryBytes::shorten(std::uint64_t size) {
  bytes_.resize(std::min<std::size_t>(bytes_.size(), size));
  synced_size_ = std::min<std::size_t>(synced_size_, size);
  std::erase_if(before_, [&](const auto& old) { return old.first >= size; });
  for (auto& [at, old] : before_) old.resize(std::min<std::size_t>(old.size(), size - at));
}

void MemoryBytes::sync() noexcept {
  before_.clear();
  synced_size_ = bytes_.size();
}

void MemoryBytes::lose_unsynced() {
  if (bytes_.size() < synced_size_) bytes_.resize(synced_size_);
  // The youngest first, so that the oldest bytes of a place are what is left there.
  for (; !before_.empty(); before_.pop_back()) {
    const auto& [at, old] = before_.back();
    bytes_.replace(at, old.size(), old);
  }
  bytes_.resize(synced_size_);
}

}  // namespace tiffany::world

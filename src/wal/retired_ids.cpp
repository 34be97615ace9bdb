#include "wal/retired_ids.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "tiffany/base/crc32c.hpp"

namespace tiffany::wal {
namespace {

constexpr std::string_view kMark = "TIFFANY-IDS1";
constexpr std::size_t kIdSize = 16;
constexpr std::size_t kEntrySize = kIdSize + 4;
static_assert(sizeof(Uuid) == kIdSize && std::is_trivially_copyable_v<Uuid>);

void put_number(std::string& out, std::uint32_t number) {
  for (int i = 0; i < 4; ++i) out += static_cast<char>(number >> (8 * i) & 0xFF);
}
std::uint32_t number_at(std::string_view bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 4; i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[at + i]);
  }
  return number;
}

constexpr const char* kFileName = "retired.ids";
std::string path_in(const std::string& directory) { return directory + "/" + kFileName; }

}  // namespace

void RetiredIds::load(Disk& disk, const std::string& directory) {
  disk_ = &disk;
  directory_ = directory;
  if (!disk.exists(path_in(directory))) return;
  const auto content = disk.read(path_in(directory));
  read(content->bytes());
  sorted_ = oldest_first_;
  std::sort(sorted_.begin(), sorted_.end());
}

void RetiredIds::read(std::string_view bytes) {
  const auto wrong = [this](const std::string& expected) {
    damage_ = path_in(directory_) + ": expected " + expected +
              ", found something else. So nobody can say which ids were used. Bring the file back, "
              "or remove it to accept that.";
  };
  if (bytes.size() < kEntrySize || !bytes.starts_with(kMark) ||
      crc32c(bytes.substr(0, kIdSize)) != number_at(bytes, kIdSize)) {
    return wrong("a header");
  }
  const std::size_t count = number_at(bytes, kMark.size());
  if (bytes.size() != (count + 1) * kEntrySize) {
    return wrong(std::to_string(count) + " entries");
  }
  oldest_first_.reserve(count);
  std::size_t bad = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view entry = bytes.substr((i + 1) * kEntrySize, kEntrySize);
    Uuid id;
    std::memcpy(static_cast<void*>(&id), entry.data(), kIdSize);
    if (crc32c(entry.substr(0, kIdSize), static_cast<std::uint32_t>(i)) ==
        number_at(entry, kIdSize)) {
      oldest_first_.push_back(id);
    } else {
      ++bad;
    }
  }
  if (bad > 0) wrong("the checksums of " + std::to_string(bad) + " entries");
}

bool RetiredIds::contains(const Uuid& id) const noexcept {
  return std::binary_search(sorted_.begin(), sorted_.end(), id);
}

std::string RetiredIds::bytes_of(const std::vector<Uuid>& ids) const {
  std::string bytes(kMark);
  bytes.reserve((ids.size() + 1) * kEntrySize);
  put_number(bytes, static_cast<std::uint32_t>(ids.size()));
  put_number(bytes, crc32c(bytes));
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::string_view id(reinterpret_cast<const char*>(&ids[i]), kIdSize);
    bytes += id;
    put_number(bytes, crc32c(id, static_cast<std::uint32_t>(i)));
  }
  return bytes;
}

Task<std::size_t> RetiredIds::add(std::vector<Uuid> ids, std::size_t most) {
  std::erase_if(ids, [this](const Uuid& id) { return contains(id); });
  if (ids.empty()) co_return 0;
  std::vector<Uuid> all = oldest_first_;
  all.insert(all.end(), ids.begin(), ids.end());
  const std::size_t forgotten = all.size() > most ? all.size() - most : 0;
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(forgotten));
  co_await replace_file(disk_, directory_, kFileName, bytes_of(all));
  oldest_first_ = std::move(all);
  sorted_ = oldest_first_;
  std::sort(sorted_.begin(), sorted_.end());
  co_return forgotten;
}

}  // namespace tiffany::wal

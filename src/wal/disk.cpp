// What a disk that knows no better way does.
#include "tiffany/wal/disk.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tiffany/io/io_error.hpp"

namespace tiffany::wal {

Task<void> DiskFile::write_synced(std::uint64_t at, std::string_view bytes) {
  co_await write(at, bytes);
  co_await sync();
}

const std::vector<Unreadable>& DiskContent::unreadable() const noexcept {
  static const std::vector<Unreadable> none;
  return none;
}

Task<void> Disk::rename_new(std::string from, std::string to) {
  if (exists(to)) throw IoError(EEXIST, "rename to", to);
  co_await rename(std::move(from), std::move(to));
}

std::uint64_t Disk::size(const std::string& path) { return read(path)->bytes().size(); }

std::string Disk::read_part(const std::string& path, std::uint64_t at, std::size_t size) {
  const std::unique_ptr<DiskContent> content = read(path);
  const std::string_view bytes = content->bytes();
  return std::string(bytes.substr(std::min<std::uint64_t>(at, bytes.size()), size));
}

Task<void> Disk::shorten(std::string, std::uint64_t) { co_return; }

Task<void> Disk::write_files(std::string directory, std::vector<WholeFile> files) {
  for (const WholeFile& each : files) {
    const std::string path = directory + "/" + each.name;
    if (exists(path)) co_await remove(path);  // it may be longer
    const std::unique_ptr<DiskFile> file = open(path);
    co_await file->write(0, each.bytes);
    co_await file->sync();
  }
  co_await sync_directory(directory);
}

Task<void> replace_file(Disk* disk, std::string directory, std::string name, std::string bytes) {
  const std::string path = directory + "/" + name;
  const std::string made = path + ".new";
  if (disk->exists(made)) co_await disk->remove(made);  // of a crash; it may be longer
  {
    const std::unique_ptr<DiskFile> file = disk->open(made);
    co_await file->write(0, bytes);
    co_await file->sync();
  }
  co_await disk->rename(made, path);
  co_await disk->sync_directory(directory);
}

}  // namespace tiffany::wal

#include "world/memory/files.hpp"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "world/memory/pipes.hpp"
#include "world/memory/sockets.hpp"

namespace tiffany::world::memory {
namespace {

// More than this is a mistake of the program, which would fill the memory of the machine.
constexpr std::uint64_t kLargestFile = std::uint64_t{1} << 40;

}  // namespace

// ---- An open file ----

bool OpenFile::reads() const noexcept { return (flags_ & O_ACCMODE) != O_WRONLY; }
bool OpenFile::writes() const noexcept { return (flags_ & O_ACCMODE) != O_RDONLY; }

int OpenFile::ready() const noexcept { return POLLIN | POLLOUT; }

void OpenFile::closed() {
  if (inode_->locked_by == this) inode_->locked_by = nullptr;
}

ssize_t OpenFile::read(void* to, std::size_t size, std::int64_t at) {
  if (!reads()) return -EBADF;
  if (inode_->type == S_IFDIR) return -EISDIR;
  const std::uint64_t from = at < 0 ? place_ : static_cast<std::uint64_t>(at);
  const std::string& all = inode_->bytes.all();
  const std::size_t some = from < all.size() ? std::min<std::size_t>(size, all.size() - from) : 0;
  if (some > 0) std::memcpy(to, all.data() + from, some);
  if (at < 0) place_ += some;
  return static_cast<ssize_t>(some);
}

ssize_t OpenFile::write(const void* from, std::size_t size, std::int64_t at, bool synced) {
  if (!writes()) return -EBADF;
  std::uint64_t to = at < 0 ? place_ : static_cast<std::uint64_t>(at);
  if ((flags_ & O_APPEND) != 0) to = inode_->bytes.size();
  if (to + size > kLargestFile) return -EFBIG;
  inode_->bytes.write(to, {static_cast<const char*>(from), size});
  inode_->changed_us = state.world->wall_clock_us().value_or(0);
  if (at < 0) place_ = to + size;
  if (synced) inode_->bytes.sync();
  return static_cast<ssize_t>(size);
}

int OpenFile::truncate(std::uint64_t size) {
  if (!writes()) return -EINVAL;
  if (size > kLargestFile) return -EFBIG;
  inode_->bytes.resize(size);
  return 0;
}

int OpenFile::attempt(Operation& op) {
  switch (op.kind) {
    case Kind::read:
      return static_cast<int>(read(op.memory, op.size, op.offset));
    case Kind::write: {
      const ssize_t done = write(op.memory, op.size, op.offset, op.flags != 0);
      if (done > 0) op.progress = static_cast<std::size_t>(done);
      return static_cast<int>(done);
    }
    case Kind::sync:
      inode_->bytes.sync();
      return 0;
    case Kind::allocate: {
      if (!writes()) return -EBADF;
      const std::uint64_t end = static_cast<std::uint64_t>(op.offset) + op.size;
      if (end > kLargestFile) return -EFBIG;
      if ((op.flags & FALLOC_FL_KEEP_SIZE) == 0 && end > inode_->bytes.size()) {
        inode_->bytes.resize(end);
      }
      return 0;
    }
    default:
      return -ENOTSOCK;
  }
}

// ---- Names ----

Files::Files(State& state) : state_(state), root_(make(S_IFDIR)) {
  root_->entries.emplace("tmp", make(S_IFDIR));
}

InodePtr Files::make(mode_t type) {
  auto made = std::make_shared<Inode>();
  made->type = type;
  made->number = ++numbers_;
  return made;
}

// Relative paths begin at the root, too: this world has one directory to be in.
Files::Place Files::place_of(std::string_view path) const {
  Place place;
  if (path.empty()) {
    place.error = -ENOENT;
    return place;
  }
  std::vector<InodePtr> above;  // of the current directory
  InodePtr at = root_;
  while (true) {
    const std::size_t begin = std::min(path.find_first_not_of('/'), path.size());
    path.remove_prefix(begin);
    const std::string_view part = path.substr(0, path.find('/'));
    path.remove_prefix(part.size());
    const bool last = path.find_first_not_of('/') == std::string_view::npos;
    if (part.empty()) break;
    if (part != "." && part != "..") {
      if (last) {
        place.directory = at;
        place.name = part;
        return place;
      }
      const auto found = at->entries.find(part);
      if (found == at->entries.end()) {
        place.error = -ENOENT;
        return place;
      }
      if (found->second->type != S_IFDIR) {
        place.error = -ENOTDIR;
        return place;
      }
      above.push_back(std::exchange(at, found->second));
    } else if (part == ".." && !above.empty()) {
      at = above.back();
      above.pop_back();
    }
    if (last) break;
  }
  place.directory = at;  // of "/", "." and "..": the directory itself
  return place;
}

InodePtr Files::find(std::string_view path, int& error) const {
  const Place place = place_of(path);
  error = place.error;
  if (error != 0) return nullptr;
  if (place.name.empty()) return place.directory;
  const auto found = place.directory->entries.find(place.name);
  if (found == place.directory->entries.end()) error = -ENOENT;
  return error == 0 ? found->second : nullptr;
}

int Files::open_path(const char* path, int flags, mode_t) {
  int error = 0;
  InodePtr inode = find(path, error);
  if (inode != nullptr && (flags & O_CREAT) != 0 && (flags & O_EXCL) != 0) return -EEXIST;
  if (inode == nullptr) {
    const Place place = place_of(path);
    if (error != -ENOENT || place.error != 0 || (flags & O_CREAT) == 0) return error;
    inode = make(S_IFREG);
    place.directory->entries.emplace(place.name, inode);
  }
  if (inode->type == S_IFSOCK) return -ENXIO;
  if (inode->type == S_IFDIR && (flags & O_ACCMODE) != O_RDONLY) return -EISDIR;
  if (inode->type != S_IFDIR && (flags & O_DIRECTORY) != 0) return -ENOTDIR;
  if ((flags & O_TRUNC) != 0 && (flags & O_ACCMODE) != O_RDONLY) inode->bytes.resize(0);
  return state_.add(std::make_shared<OpenFile>(state_, std::move(inode), path, flags));
}

int Files::rename_path(const char* from, const char* to, bool replace) {
  const Place old = place_of(from);
  const Place now = place_of(to);
  if (old.error != 0 || now.error != 0) return old.error != 0 ? old.error : now.error;
  if (old.name.empty() || now.name.empty()) return -EBUSY;
  const auto found = old.directory->entries.find(old.name);
  if (found == old.directory->entries.end()) return -ENOENT;
  const InodePtr moved = found->second;
  // A directory cannot come to lie in itself.
  const std::string_view target(to);
  const std::string inside = std::string(from) + "/";
  if (moved->type == S_IFDIR && target.starts_with(inside)) return -EINVAL;
  const auto there = now.directory->entries.find(now.name);
  if (there != now.directory->entries.end()) {
    if (!replace) return -EEXIST;
    if (there->second == moved) return 0;
    if (there->second->type == S_IFDIR && moved->type != S_IFDIR) return -EISDIR;
    if (there->second->type != S_IFDIR && moved->type == S_IFDIR) return -ENOTDIR;
    if (!there->second->entries.empty()) return -ENOTEMPTY;
    now.directory->entries.erase(there);
  }
  old.directory->entries.erase(old.name);
  now.directory->entries.emplace(now.name, moved);
  return 0;
}

int Files::unlink_path(const char* path, bool directory) {
  const Place place = place_of(path);
  if (place.error != 0) return place.error;
  if (place.name.empty()) return -EBUSY;
  const auto found = place.directory->entries.find(place.name);
  if (found == place.directory->entries.end()) return -ENOENT;
  const Inode& inode = *found->second;
  if (directory && inode.type != S_IFDIR) return -ENOTDIR;
  if (!directory && inode.type == S_IFDIR) return -EISDIR;
  if (!inode.entries.empty()) return -ENOTEMPTY;
  place.directory->entries.erase(found);
  return 0;
}

int Files::make_socket_name(const std::string& path, InodePtr& made) {
  const Place place = place_of(path);
  if (place.error != 0) return place.error;
  if (place.name.empty() || place.directory->entries.contains(place.name)) return -EADDRINUSE;
  made = make(S_IFSOCK);
  place.directory->entries.emplace(place.name, made);
  return 0;
}

void Files::lose_unsynced() {
  const auto lose = [](const auto& self, Inode& inode) -> void {
    if (inode.type == S_IFREG) inode.bytes.lose_unsynced();
    for (const auto& [name, entry] : inode.entries) self(self, *entry);
  };
  lose(lose, *root_);
}

// ---- The interface ----

int Files::duplicate(int fd) noexcept {
  ObjectPtr object = state_.find(fd);
  return object == nullptr ? with_errno(-EBADF) : state_.add(std::move(object));
}
int Files::set_blocking(int fd, bool) noexcept {
  return with_errno(state_.find(fd) == nullptr ? -EBADF : 0);  // nothing here blocks
}
ssize_t Files::read(int fd, void* to, std::size_t size) noexcept {
  const ObjectPtr object = state_.find(fd);
  if (object == nullptr) return with_errno<ssize_t>(-EBADF);
  Operation op(Kind::read, fd, nullptr);
  op.memory = to;
  op.size = size;
  const int result = object->attempt(op);
  state_.settle();
  return with_errno<ssize_t>(result);
}
int Files::pipe(int (&ends)[2]) noexcept {
  make_pipe(state_, ends);
  return 0;
}
std::size_t Files::pipe_capacity(int fd) noexcept {
  return state_.find_as<PipeEnd>(fd) != nullptr ? state_.buffer : 0;
}

void Files::about(const Inode& inode, struct stat& found) const noexcept {
  found = {};
  found.st_mode = inode.type | (inode.type == S_IFDIR ? 0777 : 0666);
  found.st_ino = inode.number;
  found.st_dev = 1;
  found.st_nlink = 1;
  found.st_size = static_cast<off_t>(inode.bytes.size());
  found.st_mtim.tv_sec = inode.changed_us / 1'000'000;
  found.st_mtim.tv_nsec = inode.changed_us % 1'000'000 * 1000;
}
int Files::status(int fd, struct stat& found) noexcept {
  if (const auto file = state_.find_as<OpenFile>(fd)) {
    about(file->inode(), found);
    return 0;
  }
  if (state_.find(fd) == nullptr) return with_errno(-EBADF);
  found = {};
  found.st_mode = state_.find_as<PipeEnd>(fd) != nullptr ? S_IFIFO : S_IFSOCK;
  found.st_ino = static_cast<ino_t>(fd);
  return 0;
}
int Files::status(const char* path, struct stat& found) noexcept {
  int error = 0;
  const InodePtr inode = find(path, error);
  if (inode != nullptr) about(*inode, found);
  return with_errno(error);
}

int Files::truncate(int fd, std::uint64_t size) noexcept {
  const auto file = state_.find_as<OpenFile>(fd);
  return with_errno(file == nullptr ? -EBADF : file->truncate(size));
}
int Files::lock(int fd) noexcept {
  const auto file = state_.find_as<OpenFile>(fd);
  if (file == nullptr) return with_errno(-EBADF);
  const Object*& holder = file->inode().locked_by;
  if (holder != nullptr && holder != file.get()) return with_errno(-EWOULDBLOCK);
  holder = file.get();
  return 0;
}
ssize_t Files::send_file(int to, int from, std::uint64_t at, std::size_t count) noexcept {
  const auto file = state_.find_as<OpenFile>(from);
  const auto socket = state_.find_as<StreamSocket>(to);
  if (file == nullptr || socket == nullptr) return with_errno<ssize_t>(-EBADF);
  const std::string& all = file->inode().bytes.all();
  const std::size_t some = at < all.size() ? std::min<std::size_t>(count, all.size() - at) : 0;
  if (some == 0) return 0;
  const int sent = socket->send(all.data() + at, some);
  state_.settle();
  return with_errno<ssize_t>(sent);
}
ssize_t Files::read_at(int fd, void* to, std::size_t size, std::uint64_t at) noexcept {
  const auto file = state_.find_as<OpenFile>(fd);
  if (file == nullptr) return with_errno<ssize_t>(-EBADF);
  return with_errno(file->read(to, size, static_cast<std::int64_t>(at)));
}
ssize_t Files::write_at(int fd, const void* from, std::size_t size, std::uint64_t at) noexcept {
  const auto file = state_.find_as<OpenFile>(fd);
  if (file == nullptr) return with_errno<ssize_t>(-EBADF);
  return with_errno(file->write(from, size, static_cast<std::int64_t>(at), false));
}
ssize_t Files::write_synced_at(int fd, const void* from, std::size_t size,
                               std::uint64_t at) noexcept {
  const auto file = state_.find_as<OpenFile>(fd);
  if (file == nullptr) return with_errno<ssize_t>(-EBADF);
  return with_errno(file->write(from, size, static_cast<std::int64_t>(at), true));
}
int Files::sync(int fd) noexcept {
  const auto file = state_.find_as<OpenFile>(fd);
  if (file == nullptr) return with_errno(-EBADF);
  file->inode().bytes.sync();
  return 0;
}
int Files::sync_file_system(int fd) noexcept {
  if (state_.find(fd) == nullptr) return with_errno(-EBADF);
  const auto sync = [](const auto& self, Inode& inode) -> void {
    inode.bytes.sync();
    for (const auto& [name, entry] : inode.entries) self(self, *entry);
  };
  sync(sync, *root_);
  return 0;
}
std::string Files::path_of(int fd) {
  const auto file = state_.find_as<OpenFile>(fd);
  return file != nullptr ? file->path() : std::string();
}

int Files::open(const char* path, int flags, mode_t mode) noexcept {
  return with_errno(open_path(path, flags, mode));
}
int Files::access(const char* path, int) noexcept {
  int error = 0;
  find(path, error);
  return with_errno(error);
}
int Files::remove(const char* path) noexcept { return with_errno(unlink_path(path, false)); }
int Files::rename(const char* from, const char* to) noexcept {
  return with_errno(rename_path(from, to, true));
}
int Files::rename_new(const char* from, const char* to) noexcept {
  return with_errno(rename_path(from, to, false));
}
int Files::truncate(const char* path, std::uint64_t size) noexcept {
  int error = 0;
  const InodePtr inode = find(path, error);
  if (inode == nullptr) return with_errno(error);
  if (inode->type == S_IFDIR) return with_errno(-EISDIR);
  if (size > kLargestFile) return with_errno(-EFBIG);
  inode->bytes.resize(size);
  return 0;
}
int Files::make_directory(const char* path) noexcept {
  const Place place = place_of(path);
  if (place.error != 0) return with_errno(place.error);
  if (place.name.empty() || place.directory->entries.contains(place.name)) {
    return with_errno(-EEXIST);
  }
  place.directory->entries.emplace(place.name, make(S_IFDIR));
  return 0;
}

// There are no users here, and so nothing that a mode decides.
int Files::change_mode(const char* path, mode_t) noexcept {
  int error = 0;
  return find(path, error) == nullptr ? with_errno(error) : 0;
}

Files::Listed Files::list(const char* path, EntryVisitor& visitor) {
  int error = 0;
  const InodePtr directory = find(path, error);
  if (directory != nullptr && directory->type != S_IFDIR) error = -ENOTDIR;
  if (with_errno(error) != 0) return Listed::cannot_open;
  // A copy: the visitor may change the directory.
  const auto entries = directory->entries;
  for (const auto& [name, entry] : entries) {
    if (!visitor.on_entry(name.c_str(), entry->type)) return Listed::cut_short;
  }
  errno = 0;
  return Listed::all;
}

}  // namespace tiffany::world::memory

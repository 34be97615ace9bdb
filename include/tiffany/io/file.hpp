// Files, at offsets, without blocking the loop.
//
//   File file = co_await open_file("log", FileMode::append);
//   co_await file.append(line);
//   co_await file.sync_data();
//
// A file has no position: every read and write says where. Cancel: see io/io_call.hpp. Where epoll
// is used, threads do what the disk has to be waited for: an open or a read that a thread has begun
// is abandoned (the file may still be made); a change that has begun is waited for, and its result
// wins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/stream.hpp"

namespace tiffany {

enum class FileMode : std::uint8_t {
  read,      // it must exist
  write,     // made when missing, kept when there
  truncate,  // made when missing, emptied when there
  create,    // it must not exist
  append,    // made when missing; every append goes to the end
};

class [[nodiscard("this does nothing until awaited")]] ReadAt final : public IoCall {
 public:
  static constexpr CallName call_name{"read_at"};
  ReadAt(const Descriptor& from, std::uint64_t at, Room room) noexcept : IoCall(Kind::read, from) {
    memory = room.data();
    size = room.size();
    offset = static_cast<std::int64_t>(at);
  }
  // Fewer than there is room for only at the end of the file.
  std::size_t finish() const { return outcome(); }

 private:
  const char* verb() const noexcept override { return "read"; }
};

class [[nodiscard("this does nothing until awaited")]] WriteAt final : public IoCall {
 public:
  static constexpr CallName call_name{"write_at"};
  WriteAt(const Descriptor& to, std::int64_t at, Bytes bytes, int how = 0) noexcept
      : IoCall(Kind::write, to) {
    memory = const_cast<std::byte*>(bytes.data());  // only read from
    size = bytes.size();
    offset = at;
    flags = how;
  }
  // All of it, or fewer when it was cancelled on the way.
  std::size_t finish() const { return outcome(); }

 private:
  const char* verb() const noexcept override { return "write"; }
};

// What gives nothing back.
class [[nodiscard("this does nothing until awaited")]] FileCall final : public IoCall {
 public:
  static constexpr CallName call_name{"file"};
  FileCall(Kind what, const Descriptor& on, const char* name, int with = 0, std::uint64_t at = 0,
           std::uint64_t length = 0) noexcept
      : IoCall(what, on), verb_(name) {
    flags = with;
    offset = static_cast<std::int64_t>(at);
    size = length;
  }
  FileCall(Kind what, std::string path, std::string to, const char* name);
  Answer start(Scheduler& scheduler, TaskRecord& task);
  void finish() const { outcome(); }

 private:
  const char* verb() const noexcept override { return verb_; }
  std::string subject() const override;
  const char* verb_;
  std::string path_;
  std::string to_;
};

class File {
 public:
  File() noexcept = default;
  explicit File(Descriptor descriptor) noexcept : descriptor_(std::move(descriptor)) {}

  ReadAt read_at(std::uint64_t at, Room room) const noexcept {
    return ReadAt(descriptor_, at, room);
  }
  WriteAt write_at(std::uint64_t at, Bytes bytes) const noexcept {
    return WriteAt(descriptor_, static_cast<std::int64_t>(at), bytes);
  }
  // As write_at, until these bytes are on the disk: one call instead of two, with sync_data.
  WriteAt write_synced(std::uint64_t at, Bytes bytes) const noexcept;
  // To the end; the file must have been opened with FileMode::append.
  WriteAt append(Bytes bytes) const noexcept { return WriteAt(descriptor_, -1, bytes); }
  // Until data and everything that is known of the file are on the disk; until the data are.
  FileCall sync() const noexcept;
  FileCall sync_data() const noexcept;
  // Reserves room on the disk, so that writing there cannot fail for lack of it.
  FileCall allocate(std::uint64_t at, std::uint64_t size) const noexcept;
  // Plain calls.
  std::uint64_t size() const;
  void truncate(std::uint64_t size) const;
  void close() noexcept { descriptor_.close(); }
  explicit operator bool() const noexcept { return static_cast<bool>(descriptor_); }
  const Descriptor& descriptor() const noexcept { return descriptor_; }

 private:
  Descriptor descriptor_;
};

class [[nodiscard("open_file does nothing until awaited: co_await open_file(...)")]] OpenFile final
    : public IoCall {
 public:
  static constexpr CallName call_name{"open"};
  OpenFile(std::string path, FileMode mode);
  Answer start(Scheduler& scheduler, TaskRecord& task);
  File finish() const { return File(Descriptor(static_cast<int>(outcome()))); }

 private:
  const char* verb() const noexcept override { return "open"; }
  std::string subject() const override { return path_; }
  std::string path_;
};
inline OpenFile open_file(std::string path, FileMode mode = FileMode::read) {
  return OpenFile(std::move(path), mode);
}

FileCall rename_file(std::string from, std::string to);
FileCall remove_file(std::string path);
// Makes creations, renames and removals in a directory survive a crash of the machine.
Task<void> sync_directory(std::string path);
// The whole of a file; an error when it has more than `most` bytes.
Task<std::string> read_file(std::string path, std::size_t most = std::size_t{64} << 20);

}  // namespace tiffany

// Who changed what, and why: a line for each change that was asked of the daemon. Internal.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/sync/mutex.hpp"

namespace tiffany::app {

struct AuditLine {
  std::int64_t time = 0;  // microseconds since 1970
  std::string actor;
  std::string role;
  std::string action;  // "POST /api/v1/tasks/{task}/cancel"
  std::string target;  // what the braces stood for
  std::string reason;
  int status = 0;  // of the answer
};
TIFFANY_JSON(AuditLine, time, actor, role, action, target, reason, status);

class Audit {
 public:
  static constexpr std::uint64_t kLongestFile = std::uint64_t{16} << 20;
  static constexpr int kMostFiles = 8;
  // A file is turned over when it is longer than its limit, by the lines of all who came at once.
  static constexpr std::uint64_t kLongestRead = 8 * kLongestFile;

  explicit Audit(std::string path) : path_(std::move(path)) {}
  // When it returns, the line is on the disk. Throws IoError, and the line is given up. Target and
  // reason are cut at 1 KiB.
  Task<void> add(AuditLine line);
  // The youngest, at most so many, the oldest of them first, of the files that are kept.
  Task<std::vector<std::string>> last(std::size_t most);

 private:
  Task<void> open();
  Task<void> turn_over();
  Task<void> write_all();
  std::string path_;
  File file_;
  std::uint64_t size_ = 0;
  Mutex alone_;
  std::string waiting_;           // lines that are not written yet
  std::uint64_t last_line_ = 0;   // that was added
  std::uint64_t last_there_ = 0;  // that is on the disk
  std::uint64_t lost_after_ = 0;  // those behind this one and up to the next could not be written
  std::uint64_t lost_through_ = 0;
  std::exception_ptr why_lost_;
};

}  // namespace tiffany::app

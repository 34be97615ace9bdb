// Answers system calls of a command that its filter cannot judge, because the answer depends on a
// path, on another process, or on how many processes there are: chmod, chown, utimensat and
// setxattr, which Landlock does not know of; setpriority and the like of another process; fork.
//
// What has a path is done here, on the file that was found and looked at, and never by the command:
// what it changes in its memory or its directories meanwhile changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "files.hpp"

namespace tiffany::supervisor {

class Broker {
 public:
  // Paths below which the command may write, without symbolic links in them.
  Broker(std::vector<std::string> writable, std::uint64_t processes)
      : writable_(std::move(writable)), most_(processes) {}
  // The descriptor that the filter of the command gave.
  void listen(Fd listener) noexcept { listener_ = std::move(listener); }
  int fd() const noexcept { return listener_.get(); }
  // Answers one call, when there is one: this does not wait.
  void answer();

 private:
  struct Call;
  struct Answer;
  Answer judge(const Call& call);
  Answer change_file(const Call& call) const;
  Answer one_more();
  bool may_write(const Fd& object) const;

  std::vector<std::string> writable_;
  std::uint64_t most_;
  std::uint64_t known_ = 1;  // never fewer than there are
  Fd listener_;
};

}  // namespace tiffany::supervisor

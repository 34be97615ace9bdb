// Answers system calls of a command that its filter cannot judge, because the answer depends on a
// path or another process: chmod, chown, utimensat and setxattr, which Landlock does not know of;
// setpriority and the like.
//
// What has a path is done here, on the file that was found and looked at, and never by the command:
// what it changes in its memory or its directories meanwhile changes nothing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "files.hpp"

namespace tiffany::supervisor {

class Broker {
 public:
  // Paths below which the command may write, without symbolic links in them.
  explicit Broker(std::vector<std::string> writable) : writable_(std::move(writable)) {}
  // The descriptor that the filter of the command gave.
  void listen(Fd listener) noexcept { listener_ = std::move(listener); }
  int fd() const noexcept { return listener_.get(); }
  // Answers one call, when there is one: this does not wait.
  void answer();

 private:
  struct Call;
  struct Answer;
  Answer judge(const Call& call) const;
  Answer change_file(const Call& call) const;
  bool may_write(const Fd& object) const;

  std::vector<std::string> writable_;
  Fd listener_;
};

}  // namespace tiffany::supervisor

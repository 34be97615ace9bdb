#include "capture.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tiffany::supervisor {

Capture::Capture(const CommandDirectory& directory, std::string name, std::uint64_t limit)
    : directory_(directory),
      name_(std::move(name)),
      head_most_(limit / 2),
      tail_most_(limit - limit / 2),
      head_(open(name_)) {
  if (head_.get() < 0) refuse("make", directory.path() + "/" + name_);
}

Fd Capture::open(const std::string& name) const {
  return Fd(openat(directory_.fd(), name.c_str(),
                   O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
}

// A full disk does not stop the command: what cannot be kept is counted.
void Capture::append(const Fd& to, std::string_view bytes) {
  if (write_all(to.get(), bytes)) return;
  if (trouble_.empty()) trouble_ = name_ + " could not be written: " + std::strerror(errno) + ".";
  lost_ += bytes.size();
}

void Capture::open_tail() {
  const std::string tail = name_ + ".tail";
  if (tail_.get() >= 0) {
    renameat(directory_.fd(), tail.c_str(), directory_.fd(), (tail + ".old").c_str());
  }
  tail_ = open(tail);
  tail_size_ = 0;
}

void Capture::add(std::string_view bytes) {
  total_ += bytes.size();
  const std::uint64_t head = std::min<std::uint64_t>(bytes.size(), head_most_ - head_size_);
  if (head > 0) append(head_, bytes.substr(0, head));
  head_size_ += head;
  bytes.remove_prefix(head);
  while (!bytes.empty() && tail_most_ > 0) {
    if (tail_.get() < 0 || tail_size_ >= tail_most_) open_tail();
    const std::uint64_t part = std::min<std::uint64_t>(bytes.size(), tail_most_ - tail_size_);
    append(tail_, bytes.substr(0, part));
    tail_size_ += part;
    bytes.remove_prefix(part);
  }
}

void Capture::finish() {
  const std::string tail = name_ + ".tail";
  const std::string old = tail + ".old";
  const std::size_t most = 2 * tail_most_ + 1;
  std::string last = read_all(directory_.fd(), old.c_str(), most).value_or("");
  last += read_all(directory_.fd(), tail.c_str(), most).value_or("");
  if (last.size() > tail_most_) last.erase(0, last.size() - tail_most_);
  const std::uint64_t behind = total_ - head_size_;
  dropped_ = behind - std::min<std::uint64_t>(behind, last.size());
  if (dropped_ > 0) append(head_, "\n[" + std::to_string(dropped_) + " bytes left out]\n");
  append(head_, last);
  dropped_ += std::min(lost_, total_ - dropped_);
  unlinkat(directory_.fd(), old.c_str(), 0);
  unlinkat(directory_.fd(), tail.c_str(), 0);
}

}  // namespace tiffany::supervisor

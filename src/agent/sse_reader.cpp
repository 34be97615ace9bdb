#include "agent/sse_reader.hpp"

#include <algorithm>
#include <utility>

namespace tiffany::agent {

void SseReader::add(std::string_view bytes) {
  buffer_.erase(0, at_);
  looked_ -= at_;
  at_ = 0;
  buffer_ += bytes;
}

bool SseReader::next_line(std::string_view& line) {
  if (after_cr_ && at_ < buffer_.size()) {
    if (buffer_[at_] == '\n') ++at_;
    after_cr_ = false;
  }
  const std::size_t end = buffer_.find_first_of("\r\n", std::max(at_, looked_));
  looked_ = std::min(end, buffer_.size());
  if (end == std::string::npos) return false;
  line = std::string_view(buffer_).substr(at_, end - at_);
  at_ = looked_ = end + 1;
  after_cr_ = buffer_[end] == '\r';
  return true;
}

std::optional<std::string> SseReader::next() {
  std::string_view line;
  while (next_line(line)) {
    if (!std::exchange(begun_, true) && line.starts_with("\xef\xbb\xbf")) line.remove_prefix(3);
    if (line.empty()) {
      if (!std::exchange(has_data_, false)) continue;
      return std::exchange(data_, std::string());
    }
    const std::string_view name = line.substr(0, line.find(':'));
    if (name != "data") continue;
    line.remove_prefix(std::min(line.size(), name.size() + 1));
    if (line.starts_with(' ')) line.remove_prefix(1);
    if (std::exchange(has_data_, true)) data_ += '\n';
    data_ += line;
  }
  return std::nullopt;
}

}  // namespace tiffany::agent

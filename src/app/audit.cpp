#include "app/audit.hpp"

#include <utility>

#include "tiffany/base/codec.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany::app {
namespace {

std::string numbered(const std::string& path, int number) {
  return number == 0 ? path : path + "." + std::to_string(number);
}

}  // namespace

// A line that a crash has cut is ended, so that the next one is whole.
Task<void> Audit::open() {
  file_ = co_await open_file(path_, FileMode::append);
  size_ = file_.size();
  if (size_ > 0) co_await file_.append(std::string("\n"));
}

Task<void> Audit::turn_over() {
  file_.close();
  file_ = File();
  WorldFiles& files = World::current().files();
  files.remove(numbered(path_, kMostFiles - 1).c_str());
  for (int i = kMostFiles - 1; i > 0; --i) {
    files.rename(numbered(path_, i - 1).c_str(), numbered(path_, i).c_str());
  }
  co_await open();
}

// Whoever comes first writes the lines of all who have come meanwhile.
Task<void> Audit::add(AuditLine line) {
  waiting_ += to_json(line) + "\n";
  const std::uint64_t own = ++last_line_;
  const Mutex::Guard alone = co_await alone_.lock();
  if (last_there_ < own) co_await write_all();
}

Task<void> Audit::write_all() {
  if (!file_) co_await open();
  if (size_ > kLongestFile) co_await turn_over();
  const std::string text = std::exchange(waiting_, std::string());
  const std::uint64_t last = last_line_;
  try {
    co_await file_.append(text);
    co_await file_.sync_data();
  } catch (...) {
    waiting_.insert(0, text);  // whoever comes next tries again
    throw;
  }
  size_ += text.size();
  last_there_ = last;
}

Task<std::vector<std::string>> Audit::last(std::size_t most) {
  std::vector<std::string> found;
  for (int number = 0; number < kMostFiles && found.size() < most; ++number) {
    std::string text;
    try {
      text = co_await read_file(numbered(path_, number), 2 * kLongestFile);
    } catch (const IoError&) {
      break;  // there is no such file
    }
    std::vector<std::string> lines;
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view each = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      // What a crash has cut is no object.
      if (each.starts_with('{') && each.ends_with('}')) lines.emplace_back(each);
    }
    found.insert(found.begin(), std::make_move_iterator(lines.begin()),
                 std::make_move_iterator(lines.end()));
  }
  if (found.size() > most) found.erase(found.begin(), found.end() - static_cast<long>(most));
  co_return found;
}

}  // namespace tiffany::app

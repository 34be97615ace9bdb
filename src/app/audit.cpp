#include "app/audit.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/utf8.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany::app {
namespace {

std::string numbered(const std::string& path, int number) {
  return number == 0 ? path : path + "." + std::to_string(number);
}

// In the middle of no character.
void cut_at(std::string& text) {
  constexpr std::size_t kLongest = 1024;
  if (text.size() <= kLongest) return;
  text.resize(detail::utf8_prefix(text, kLongest).size());
  text += "...";
}

// And not what a crash or a full disk has left of one.
bool is_line(std::string_view text) {
  if (!text.starts_with('{')) return false;
  try {
    (void)from_json<AuditLine>(text);
  } catch (const Error&) {
    return false;
  }
  return true;
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

// Whoever comes first writes the lines of all who have come meanwhile; when that fails, it has
// failed for all of them, and each has told its client so.
Task<void> Audit::add(AuditLine line) {
  cut_at(line.target);
  cut_at(line.reason);
  waiting_ += to_json(line) + "\n";
  const std::uint64_t own = ++last_line_;
  const Mutex::Guard alone = co_await alone_.lock();
  if (lost_after_ < own && own <= lost_through_) std::rethrow_exception(why_lost_);
  if (last_there_ < own) co_await write_all();
}

Task<void> Audit::write_all() {
  const std::uint64_t before = std::max(last_there_, lost_through_);
  const std::string text = std::exchange(waiting_, std::string());
  const std::uint64_t last = last_line_;
  try {
    if (!file_) co_await open();
    if (size_ > kLongestFile) co_await turn_over();
    co_await file_.append(text);
    co_await file_.sync_data();
  } catch (...) {
    lost_after_ = before;
    lost_through_ = last;
    why_lost_ = std::current_exception();
    file_ = File();  // opened again, a line that was cut is ended
    throw;
  }
  size_ += text.size();
  last_there_ = last;
}

Task<std::vector<std::string>> Audit::last(std::size_t most) {
  std::vector<std::string> found;  // the youngest first
  for (int number = 0; number < kMostFiles && found.size() < most; ++number) {
    std::string text;
    try {
      text = co_await read_file(numbered(path_, number), kLongestRead);
    } catch (const IoError& error) {
      if (error.number() != ENOENT) throw;
      break;
    }
    std::string_view rest = text;
    while (!rest.empty() && found.size() < most) {
      const std::size_t before = rest.rfind('\n');
      const std::string_view line =
          before == std::string_view::npos ? rest : rest.substr(before + 1);
      if (is_line(line)) found.emplace_back(line);
      rest = before == std::string_view::npos ? std::string_view() : rest.substr(0, before);
    }
  }
  std::ranges::reverse(found);
  co_return found;
}

}  // namespace tiffany::app

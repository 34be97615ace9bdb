#include <string>
#include <utility>

#include "tiffany/wal/record.hpp"
#include "tiffany/wal/scan.hpp"
#include "wal/excerpt.hpp"

namespace tiffany::wal {

std::string LineReader::path(const TaskLog& task, const Position& position) const {
  const bool shared = position.file != 0;
  return directory_ + "/" + (shared ? segment_name(position.file) : task.id.text() + ".wal");
}

std::string_view LineReader::look(const TaskLog& task, const Position& position, bool anew) {
  const bool shared = position.file != 0;
  if (!shared && task_ != task.id) of_task_.reset();
  task_ = shared ? task_ : task.id;
  std::unique_ptr<DiskContent>& content = shared ? segments_[position.file] : of_task_;
  if (content == nullptr && !anew) {
    const std::string file = path(task, position);
    const std::uint64_t size = shared ? disk_.size(file) : 0;
    if (kept_ == 0 || kept_ + size <= kMostKept) {
      content = disk_.read(file);
      kept_ += size;
    }
  }
  if (content == nullptr || anew) {
    one_line_ = disk_.read_part(path(task, position), position.offset, position.size);
    return one_line_;
  }
  const std::string_view bytes = content->bytes();
  return bytes.substr(std::min<std::uint64_t>(position.offset, bytes.size()), position.size);
}

std::string LineReader::read(const TaskLog& task, const Position& position) {
  const std::uint32_t seed =
      position.file != 0 && position.offset > 0 ? seed_of_segment(position.file) : 0;
  for (const bool anew : {false, true}) {  // what was read before may be older than the record
    const std::string_view line = look(task, position, anew);
    RecordView view;
    if (read_line(line, seed, view) == LineFault::none) return reseeded(line, 0);
  }
  throw Error(Errc::log_damaged,
              path(task, position) + ", byte " + std::to_string(position.offset) +
                  ": expected the record of task " + task.id.text() + " that was there, found \"" +
                  excerpt(look(task, position, false)) + "\".");
}

std::string LineReader::read_alone(const TaskLog& task, const Position& position) {
  const std::uint32_t seed =
      position.file != 0 && position.offset > 0 ? seed_of_segment(position.file) : 0;
  const std::string line = disk_.read_part(path(task, position), position.offset, position.size);
  RecordView view;
  if (read_line(line, seed, view) == LineFault::none) return reseeded(line, 0);
  throw Error(Errc::log_damaged, path(task, position) + ", byte " +
                                     std::to_string(position.offset) +
                                     ": expected the record of task " + task.id.text() +
                                     " that was there, found \"" + excerpt(line) + "\".");
}

std::vector<std::string> LineReader::read_all(const TaskLog& task) {
  std::vector<std::string> lines;
  lines.reserve(task.records.size());
  for (const Position& position : task.records) lines.push_back(read(task, position));
  return lines;
}

RecordView view_of(const std::string& line) noexcept {
  RecordView view;
  read_line(std::string_view(line).substr(0, line.size() - 1), 0, view);
  return view;
}

void LineReader::forget() noexcept {
  segments_.clear();
  kept_ = 0;
  of_task_.reset();
}

}  // namespace tiffany::wal

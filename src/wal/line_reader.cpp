#include <algorithm>
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

static std::uint64_t block_key(const Position& position, std::uint64_t number) noexcept {
  return std::uint64_t{position.file} << 32 | number;
}

// Lines that are asked for one after the other are mostly near each other, but those of one task
// may be far apart: so parts of segments are kept, and not whole ones. Null: that part cannot be
// read.
const std::string* LineReader::block(const TaskLog& task, const Position& position,
                                     std::uint64_t number) {
  const std::uint64_t key = block_key(position, number);
  if (const auto found = blocks_.find(key); found != blocks_.end()) {
    found->second.used = ++uses_;
    return &found->second.bytes;
  }
  if (blocks_.size() >= kMostBlocks) {
    blocks_.erase(std::min_element(
        blocks_.begin(), blocks_.end(),
        [](const auto& one, const auto& other) { return one.second.used < other.second.used; }));
  }
  try {
    Block& made = blocks_[key];
    made.used = ++uses_;
    made.bytes = disk_.read_part(path(task, position), number * kBlock, kBlock);
    return &made.bytes;
  } catch (const Error&) {  // the line itself may be good, and is read alone
    blocks_.erase(key);
    return nullptr;
  }
}

std::string_view LineReader::look(const TaskLog& task, const Position& position, bool anew) {
  if (position.file == 0 && !anew) {
    if (task_ != task.id || of_task_ == nullptr) of_task_ = disk_.read(path(task, position));
    task_ = task.id;
    const std::string_view bytes = of_task_->bytes();
    return bytes.substr(std::min<std::uint64_t>(position.offset, bytes.size()), position.size);
  }
  const std::uint64_t number = position.offset / kBlock;
  if (anew) {  // the record was written since its block was read, and so were others, perhaps
    blocks_.erase(block_key(position, number));
  } else if (const std::string* const bytes = block(task, position, number)) {
    const std::size_t at = position.offset % kBlock;
    if (at + position.size <= bytes->size()) {
      return std::string_view(*bytes).substr(at, position.size);
    }
  }
  one_line_ = disk_.read_part(path(task, position), position.offset, position.size);
  return one_line_;
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
  blocks_.clear();
  of_task_.reset();
}

}  // namespace tiffany::wal

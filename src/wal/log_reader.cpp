#include "wal/log_reader.hpp"

#include <algorithm>

#include "tiffany/base/error.hpp"
#include "wal/excerpt.hpp"

namespace tiffany::wal {

void LogReader::read_files() {
  auto sizes = read_sizes(disk_, directory_);
  for (const std::string& name : disk_.list(directory_)) {
    if (!name.ends_with(".wal") || !Uuid::parse(name.substr(0, name.size() - 4))) continue;
    const std::string path = directory_ + "/" + name;
    own_ = Uuid::parse(name.substr(0, name.size() - 4));
    const auto content = content_of_task(name);
    const auto known = sizes.find(*own_);
    const std::uint64_t expected = known == sizes.end() ? 0 : known->second;
    if (known != sizes.end()) sizes.erase(known);
    if (content == nullptr) {
      own_.reset();
      continue;
    }
    limit_ = std::nullopt;
    synced_ = expected;
    last_ = true;
    read(path, *content, 0, 0);
    TaskLog& task = index_.at(*own_);
    task.size = std::max(end_, synced_);  // also of a task of which nothing is left to read
    task.proven = std::max(proven_, std::min(end_, synced_));
    own_.reset();
  }
  for (const auto& [id, size] : sizes) {
    if (size == 0) continue;
    own_ = id;
    add_damage(directory_ + "/" + id.text() + ".wal", 0, 0,
               "a file with " + std::to_string(size) + " synced bytes", "no such file", {});
    // What is written to it from now on comes behind what is missing, so that the gap is seen by
    // everyone.
    index_.at(id).size = index_.at(id).proven = size;
    own_.reset();
  }
}

void LogReader::read_accepted() {
  const std::string path = directory_ + "/accepted";
  if (index_.damage.empty() || !disk_.exists(path)) return;
  const auto content = disk_.read(path);
  const std::string_view text = content->bytes();
  for (Damage& damage : index_.damage) {
    if (text.find(accepted_line(damage)) != std::string_view::npos) damage.accepted = true;
  }
}

void LogReader::quarantine() {
  for (const Suspicion& suspicion : suspicions_) {
    for (const auto& task : index_.tasks) {
      if (task->id.nil() || !task->quarantine.empty()) continue;
      const bool touched =
          suspicion.task ? task->id == *suspicion.task : task->order < suspicion.order;
      if (touched) (task->ended ? task->doubt : task->quarantine) = suspicion.why;
    }
  }
}

std::unique_ptr<DiskContent> LogReader::content_of_task(const std::string& name) {
  const std::string path = directory_ + "/" + name;
  std::string why;
  try {
    return disk_.read(path);
  } catch (const Error& error) {
    why = error.what();
  }
  // A compaction has taken it to the archive meanwhile.
  const std::vector<std::string> names = disk_.list(directory_);
  if (std::find(names.begin(), names.end(), name) == names.end()) return nullptr;
  index_.at(*own_).unreadable = true;
  add_damage(path, 0, 0, "a file that can be read", why, {});
  return nullptr;
}

bool LogReader::later_batch(std::string_view bytes, std::size_t from, std::uint32_t seed) {
  if (!last_batch_) last_batch_ = find_last_batch(bytes, from, seed);
  return *last_batch_ > from;
}

std::uint64_t LogReader::find_last_batch(std::string_view bytes, std::size_t from,
                                         std::uint32_t seed) {
  RecordView view;
  std::uint64_t last = 0;
  for (std::size_t at = bytes.find("\n {", from); at != std::string_view::npos;
       at = bytes.find("\n {", at + 1)) {
    const std::size_t end = bytes.find('\n', at + 1);
    if (end == std::string_view::npos) break;
    const std::string_view line = bytes.substr(at + 1, end - at - 1);
    if (read_line(line, seed, view) == LineFault::none) last = at + 1;
  }
  return last;
}

void LogReader::read(const std::string& path, const DiskContent& content, std::uint32_t number,
                     std::uint32_t seed) {
  const std::string_view bytes = content.bytes();
  for (const Unreadable& part : content.unreadable()) {
    add_damage(path, 0, part.offset, std::to_string(part.size) + " bytes that can be read",
               "\"" + part.why + "\"", {});
  }
  const std::uint64_t limit =
      limit_ ? std::min<std::uint64_t>(*limit_, bytes.size()) : bytes.size();
  std::uint64_t at = 0;
  std::size_t line_number = 0;
  end_ = 0;
  proven_ = 0;
  last_batch_.reset();
  while (at < limit) {
    if (!limit_ && at >= synced_ && bytes[at] == '\0' && !later_batch(bytes, at, seed)) break;
    ++line_number;
    const std::size_t stop = std::min<std::uint64_t>(bytes.substr(at).find('\n'), limit - at);
    const std::string_view line = bytes.substr(at, stop);
    const bool whole = at + stop < limit;  // it has its line break
    RecordView view;
    const bool header = at == 0 && number != 0;
    LineFault fault = read_line(line, header ? 0 : seed, view);
    if (!whole && fault == LineFault::none) fault = LineFault::not_a_record;
    if (fault == LineFault::none || fault == LineFault::version) {
      if (fault == LineFault::version) {
        add_damage(path, line_number, at, "version 1 of the format", excerpt(line), {});
      } else if (header && !names_segment(view, number)) {
        add_damage(path, 1, 0, "the owner of segment " + std::to_string(number), excerpt(line), {});
      } else if (!take(view, number, at)) {
        add_damage(path, line_number, at, wrong_, excerpt(line), view.task);
      }
      if (view.first_of_batch) proven_ = at;  // when it was written, what is before had been synced
      at += stop + 1;
      end_ = at;
      continue;
    }
    const bool unfinished = last_ && at >= synced_ && !(header && followed_) &&
                            !(own_ && was_changed(line, whole)) &&
                            !later_batch(bytes, at + (whole ? stop : 0), seed);
    if (unfinished) {
      if (line.starts_with("{\"v\":") || line.starts_with(" {\"v\":")) index_.cut += line.size();
      return;
    }
    describe(path, line_number, at, line, header ? 0 : seed, fault);
    at += stop + 1;
    end_ = std::min<std::uint64_t>(at, limit);
  }
  if (limit_ && *limit_ > bytes.size()) {
    add_damage(path, 0, bytes.size(), "a file of at least " + std::to_string(*limit_) + " bytes",
               "one of " + std::to_string(bytes.size()), {});
  }
  if (last_ && synced_ > end_) {
    add_damage(path, line_number + 1, end_, "synced records up to byte " + std::to_string(synced_),
               "the end of the file", {});
  }
}

bool LogReader::was_changed(std::string_view line, bool whole) {
  if (whole) return line.find('\0') == std::string_view::npos;
  RecordView view;
  return !line.empty() && line.back() != '\0' &&
         read_line(line.substr(0, line.size() - 1), 0, view) == LineFault::none;
}

void LogReader::describe(const std::string& path, std::size_t line_number, std::uint64_t at,
                         std::string_view line, std::uint32_t seed, LineFault fault) {
  std::string expected = "a record";
  std::string found = "\"" + excerpt(line) + "\"";
  if (fault == LineFault::checksum) {
    const Checksums both = checksums_of(line, seed);
    expected = "a record with the checksum " + both.expected;
    found = "one with " + both.found;
  }
  // Of a line that differs from a right one by more than a bit nobody knows how many lines it
  // was.
  RecordView view;
  const std::optional<std::string> right = mended(line, seed);
  if (right && read_line(*right, seed, view) == LineFault::none) {
    if (const std::optional<Uuid> id = Uuid::parse(view.task)) {
      index_.mended.push_back({*id, view.seq, reseeded(*right, 0)});
    }
  } else {
    find_names(line);
  }
  add_damage(path, line_number, at, expected, found, view.task);
}

void LogReader::find_names(std::string_view text) {
  constexpr std::string_view kTaskField = R"("task_id":")";
  for (std::size_t at = text.find(kTaskField); at != std::string_view::npos;
       at = text.find(kTaskField, at + 1)) {
    const std::optional<Uuid> id = Uuid::parse(text.substr(at + kTaskField.size(), 36));
    if (id && !id->nil()) index_.named.push_back(*id);
  }
}

bool LogReader::take(const RecordView& view, std::uint32_t number, std::uint64_t at) {
  const std::optional<Uuid> id = Uuid::parse(view.task);
  // Records that came together have the same time.
  if (view.ts != last_ts_) {
    last_time_ = parse_time(view.ts);
    last_ts_.assign(view.ts);
  }
  const std::optional<std::int64_t> time = last_time_;
  if (!id || !time) {
    wrong_ = !id ? "a UUID as task_id" : "a time as ts";
    return false;
  }
  if (own_ && *id != *own_) {
    wrong_ = "records of task " + own_->text() + " only";
    return false;
  }
  ++index_.records;
  index_.bytes += view.line.size() + 1;
  index_.last_time = std::max(index_.last_time, *time);
  if (!own_ || own_->nil()) index_.shut_down = view.type == RecordType::ShutdownMarker;
  const Position position{number, static_cast<std::uint32_t>(view.line.size()), at};
  TaskLog& task = index_.at(*id);
  task.order = index_.records;
  if (id->nil()) {
    if (const auto epoch = number_in(view.payload, "\"epoch\":")) {
      index_.epoch = std::max(index_.epoch, *epoch);
    }
    task.last_seq = std::max(task.last_seq, view.seq);
    return true;
  }
  if (view.seq <= task.last_seq) return true;  // copied forward, and not removed where it was
  if (view.seq != task.last_seq + 1 && view.type != RecordType::Checkpoint &&
      task.quarantine.empty()) {
    task.quarantine = "its record " + std::to_string(task.last_seq + 1) + " is missing before " +
                      std::to_string(view.seq);
  }
  if (view.type == RecordType::Checkpoint && task.records.size() > 1) task.records.resize(1);
  task.records.push_back(position);
  note_record(task, view);
  return true;
}

void LogReader::add_damage(const std::string& path, std::size_t line, std::uint64_t offset,
                           std::string expected, std::string found, std::string_view task) {
  const std::optional<Uuid> whose = own_ ? own_ : Uuid::parse(task);
  index_.damage.push_back({path, line, offset, std::move(expected), std::move(found), whose});
  if (whose && !whose->nil()) index_.at(*whose);  // also one of which nothing else is left
  suspicions_.push_back({whose, index_.records + 1, index_.damage.back().text()});
}

}  // namespace tiffany::wal

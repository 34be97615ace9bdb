#include "tiffany/wal/scan.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <exception>
#include <map>
#include <optional>
#include <unordered_map>

#include "tiffany/base/crc32c.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/io/io_error.hpp"
#include "wal/excerpt.hpp"

namespace tiffany::wal {
namespace {

constexpr std::size_t kFirstLine = std::size_t{64} << 10;  // more than an Owner record ever has

// Written, synced and renamed: it is there as a whole, or it is damaged.
std::uint32_t read_base(Disk& disk, const std::string& directory) {
  const std::string path = directory + "/base";
  if (!disk.exists(path)) return 0;
  const auto content = disk.read(path);
  const std::string text(content->bytes());
  std::uint32_t segment = 0;
  std::from_chars(text.data(), text.data() + text.size(), segment);
  if (text == base_text(segment)) return segment;
  throw Error(Errc::log_damaged,
              path +
                  " does not say where the journal begins. Without it old segments "
                  "cannot be told from those that count.");
}

// A number that is a member of the payload; nothing when it has no such member.
std::optional<std::uint64_t> number_in(std::string_view payload, std::string_view member) {
  const std::size_t at = payload.find(member);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const std::string_view rest = payload.substr(at + member.size());
  const auto got = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (got.ec != std::errc()) return std::nullopt;
  return number;
}

// How far the last owner knew everything to be synced; a hint, and perhaps an old one.
struct Mark {
  std::uint32_t segment = 0;
  std::uint64_t size = 0;
};
Mark read_mark(Disk& disk, const std::string& directory) {
  Mark mark;
  const std::string path = directory + "/synced";
  if (!disk.exists(path)) return mark;
  const auto content = disk.read(path);
  const std::string_view text = content->bytes();
  if (text.size() < 30) return mark;
  std::uint32_t crc = 0;
  std::from_chars(text.data() + 22, text.data() + 30, crc, 16);
  if (crc != crc32c(text.substr(0, 22))) return mark;
  std::from_chars(text.data(), text.data() + 8, mark.segment);
  std::from_chars(text.data() + 9, text.data() + 21, mark.size);
  return mark;
}

// What each file of the layout with files had on the disk at least; hints as well. See
// sizes_line().
std::unordered_map<Uuid, std::uint64_t, UuidHash> read_sizes(Disk& disk,
                                                             const std::string& directory) {
  std::unordered_map<Uuid, std::uint64_t, UuidHash> sizes;
  const std::string path = directory + "/sizes";
  if (!disk.exists(path)) return sizes;
  const auto content = disk.read(path);
  const std::string_view bytes = content->bytes();
  for (std::size_t at = 0; at + kSizesLine <= bytes.size(); at += kSizesLine) {
    const std::string_view line = bytes.substr(at, kSizesLine);
    const std::optional<Uuid> id = Uuid::parse(line.substr(0, 36));
    std::uint64_t size = 0;
    std::from_chars(line.data() + 37, line.data() + 49, size);
    if (id && line == sizes_line(*id, size)) sizes[*id] = size;
  }
  return sizes;
}

class Reader {
 public:
  Reader(Disk& disk, const std::string& directory, LogIndex& index)
      : disk_(disk), directory_(directory), index_(index) {}

  void read_journal(bool without_base) {
    if (!without_base) index_.base = read_base(disk_, directory_);
    for (const std::string& name : disk_.list(directory_)) {
      const std::uint32_t number = number_of_segment(name);
      if (number != 0 && number >= index_.base) {
        index_.segments.push_back({number, directory_ + "/" + name, 0});
      }
    }
    std::sort(index_.segments.begin(), index_.segments.end(),
              [](const Segment& a, const Segment& b) { return a.number < b.number; });
    const Mark mark = read_mark(disk_, directory_);
    std::vector<Header> headers;
    for (const Segment& segment : index_.segments) headers.push_back(read_header(segment));
    drop_unborn(headers, mark);
    drop_outdated(headers);
    for (std::size_t i = 0; i < index_.segments.size(); ++i) {
      const bool last = i + 1 == index_.segments.size();
      Segment& segment = index_.segments[i];
      if (headers[i].valid && headers[i].epoch < index_.epoch) {
        add_damage(segment.path, 1, 0,
                   "a segment of owner " + std::to_string(index_.epoch) + " or a later one",
                   "one of owner " + std::to_string(headers[i].epoch), {});
        continue;
      }
      // What comes next says where this one ends; unless the one that came next is missing.
      const bool followed = !last && index_.segments[i + 1].number == segment.number + 1;
      limit_ = followed ? headers[i + 1].after : std::nullopt;
      synced_ = mark.segment == segment.number ? mark.size : 0;
      last_ = last;
      const auto content = disk_.read(segment.path);
      read(segment.path, *content, segment.number, seed_of_segment(segment.number));
      segment.size = last ? std::max(end_, synced_) : end_;  // what is missing stays missing
      segment.proven = std::max(proven_, std::min(end_, synced_));
    }
    check_gaps_between_segments();
    // Both say that there is such a segment.
    const std::uint32_t needed = std::max(mark.segment, index_.base);
    if (needed > (index_.segments.empty() ? 0 : index_.segments.back().number)) {
      const std::string path = directory_ + "/" + segment_name(needed);
      add_damage(path, 1, 0, "a segment with synced records",
                 "no file, or one without a valid first line", {});
      // The next one gets the number after it, so that the gap is seen by everyone who comes later.
      index_.segments.push_back({needed, path, mark.segment == needed ? mark.size : 0});
    }
  }

  void read_files() {
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

  // Somebody has looked at these places and said in writing that what was there may be lost.
  void read_accepted() {
    const std::string path = directory_ + "/accepted";
    if (index_.damage.empty() || !disk_.exists(path)) return;
    const auto content = disk_.read(path);
    const std::string_view text = content->bytes();
    for (Damage& damage : index_.damage) {
      if (text.find(accepted_line(damage)) != std::string_view::npos) damage.accepted = true;
    }
  }

  void quarantine() {
    for (const Suspicion& suspicion : suspicions_) {
      for (const auto& task : index_.tasks) {
        if (task->id.nil() || !task->quarantine.empty()) continue;
        const bool touched =
            suspicion.task ? task->id == *suspicion.task : task->order < suspicion.order;
        if (touched) (task->ended ? task->doubt : task->quarantine) = suspicion.why;
      }
    }
  }

 private:
  struct Suspicion {
    std::optional<Uuid> task;  // none: everyone who has no later record
    std::uint64_t order = 0;
    std::string why;
  };

  // Null when there is nothing to read. A file that cannot be read is damage to its own task only.
  std::unique_ptr<DiskContent> content_of_task(const std::string& name) {
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

  // What the first line of a segment says.
  struct Header {
    bool valid = false;
    std::uint64_t epoch = 0;
    std::optional<std::uint64_t> after;  // where the segment before it ends
  };
  Header read_header(const Segment& segment) {
    RecordView view;
    Header header;
    std::string begin;
    try {
      begin = disk_.read_part(segment.path, 0, kFirstLine);
    } catch (const IoError& e) {
      if (e.number() != EIO) throw;
      return header;  // reading all of it will say so
    }
    if (read_line(first_line(begin), 0, view) != LineFault::none) return header;
    header.valid = names_segment(view, segment.number);
    header.epoch = number_in(view.payload, "\"epoch\":").value_or(0);
    if (header.valid) header.after = number_in(view.payload, "\"after\":");
    return header;
  }
  static std::string_view first_line(std::string_view bytes) {
    return bytes.substr(0, std::min(bytes.substr(0, kLongestLine).find('\n'), bytes.size()));
  }
  static bool names_segment(const RecordView& view, std::uint32_t number) {
    return view.type == RecordType::Owner && number_in(view.payload, "\"segment\":") == number &&
           number_in(view.payload, "\"epoch\":") && number_in(view.payload, "\"after\":");
  }

  // A last segment whose first line was never finished holds nothing that was acknowledged, unless
  // something in it says otherwise. There is one at most: it comes to be when all before it are
  // begun.
  void drop_unborn(std::vector<Header>& headers, const Mark& mark) {
    if (headers.empty() || headers.back().valid) return;
    const Segment& segment = index_.segments.back();
    const auto content = disk_.read(segment.path);
    const std::string_view first = first_line(content->bytes());
    const std::uint32_t seed = seed_of_segment(segment.number);
    last_batch_.reset();
    if (mark.segment == segment.number || later_batch(content->bytes(), first.size(), seed)) {
      return;  // reading it will say what is wrong
    }
    // The first line of the segment that the file was before is nothing that was cut.
    RecordView view;
    const bool other = read_line(first, 0, view) == LineFault::none;
    index_.cut += other || first.empty() || first[0] == '\0' ? 0 : first.size();
    index_.segments.pop_back();
    headers.pop_back();
    followed_ = true;
  }

  // What an owner wrote who did not know that another had followed.
  void drop_outdated(std::vector<Header>& headers) {
    std::uint64_t epoch = 0;
    for (const Header& header : headers) epoch = std::max(epoch, header.epoch);
    while (!headers.empty() && headers.back().valid && headers.back().epoch < epoch) {
      index_.segments.pop_back();
      headers.pop_back();
      followed_ = true;
    }
  }

  // Is there a line further on that was written when everything before it had been synced?
  bool later_batch(std::string_view bytes, std::size_t from, std::uint32_t seed) {
    if (!last_batch_) last_batch_ = find_last_batch(bytes, from, seed);
    return *last_batch_ > from;
  }
  static std::uint64_t find_last_batch(std::string_view bytes, std::size_t from,
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

  void read(const std::string& path, const DiskContent& content, std::uint32_t number,
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
          add_damage(path, 1, 0, "the owner of segment " + std::to_string(number), excerpt(line),
                     {});
        } else if (!take(view, number, at)) {
          add_damage(path, line_number, at, wrong_, excerpt(line), view.task);
        }
        if (view.first_of_batch)
          proven_ = at;  // when it was written, what is before had been synced
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
      add_damage(path, line_number + 1, end_,
                 "synced records up to byte " + std::to_string(synced_), "the end of the file", {});
    }
  }

  // In a file of one task, which only grows, a write that was not finished leaves zeros, or ends
  // with the file. Whatever else is wrong was right once. (A segment may have been used before.)
  static bool was_changed(std::string_view line, bool whole) {
    if (whole) return line.find('\0') == std::string_view::npos;
    RecordView view;
    return !line.empty() && line.back() != '\0' &&
           read_line(line.substr(0, line.size() - 1), 0, view) == LineFault::none;
  }

  void describe(const std::string& path, std::size_t line_number, std::uint64_t at,
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

  // The ids that can still be read in what is no record any more.
  void find_names(std::string_view text) {
    constexpr std::string_view kTaskField = R"("task_id":")";
    for (std::size_t at = text.find(kTaskField); at != std::string_view::npos;
         at = text.find(kTaskField, at + 1)) {
      const std::optional<Uuid> id = Uuid::parse(text.substr(at + kTaskField.size(), 36));
      if (id && !id->nil()) index_.named.push_back(*id);
    }
  }

  // False when it cannot be right; `wrong_` says why.
  bool take(const RecordView& view, std::uint32_t number, std::uint64_t at) {
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

  // `task`: the only one that it can have hurt, if that is known.
  void add_damage(const std::string& path, std::size_t line, std::uint64_t offset,
                  std::string expected, std::string found, std::string_view task) {
    const std::optional<Uuid> whose = own_ ? own_ : Uuid::parse(task);
    index_.damage.push_back({path, line, offset, std::move(expected), std::move(found), whose});
    if (whose && !whose->nil()) index_.at(*whose);  // also one of which nothing else is left
    suspicions_.push_back({whose, index_.records + 1, index_.damage.back().text()});
  }

  // Each by its own name, so that one that goes missing later is not taken for one that was missing
  // before. Segments that are not needed any more are removed from the front only, and `base` says
  // so.
  void check_gaps_between_segments() {
    constexpr std::uint32_t kMostNamed = 1000;
    std::uint32_t next = std::max<std::uint32_t>(index_.base, 1);
    for (const Segment& here : index_.segments) {
      for (std::uint32_t named = 0; next < here.number; ++next, ++named) {
        if (named == kMostNamed) next = here.number - 1;  // and the last of them
        add_damage(directory_ + "/" + segment_name(next), 0, 0, "a segment", "no such file", {});
      }
      next = here.number + 1;
    }
  }

  Disk& disk_;
  const std::string& directory_;
  LogIndex& index_;
  std::optional<std::uint64_t> limit_;  // where the file ends, when that is known from elsewhere
  std::uint64_t synced_ = 0;            // where it ends at least
  bool last_ = false;                   // only here can something be unfinished
  bool followed_ = false;               // there was one after the last, which is of no account
  std::optional<Uuid> own_;             // the task of the file
  std::uint64_t end_ = 0;
  std::uint64_t proven_ = 0;                 // where the last batch begins
  std::optional<std::uint64_t> last_batch_;  // where the last one begins; found when asked for
  std::string last_ts_;
  std::optional<std::int64_t> last_time_;
  std::string wrong_;
  std::vector<Suspicion> suspicions_;
};

}  // namespace

std::string_view name_of(Layout layout) noexcept {
  return layout == Layout::journal ? "Layout::journal" : "Layout::files";
}

std::optional<Layout> layout_of(Disk& disk, const std::string& directory) {
  std::string of_journal;
  std::string of_files;
  for (const std::string& name : disk.list(directory)) {
    const bool of_task =
        name.ends_with(".wal") && Uuid::parse(name.substr(0, name.size() - 4)).has_value();
    if (of_task) of_files = name;
    if (number_of_segment(name) != 0 || name == "base" || name == "synced") of_journal = name;
  }
  if (!of_journal.empty() && !of_files.empty()) {
    throw Error(Errc::log_layout, directory + " holds files of two layouts, Layout::journal (" +
                                      of_journal + ") and Layout::files (" + of_files +
                                      "). A log has one layout: move the files of the other away.");
  }
  if (!of_journal.empty()) return Layout::journal;
  if (!of_files.empty()) return Layout::files;
  return std::nullopt;
}

namespace {

// In the other layout a log looks empty, and everything in it would be started again.
void require_layout(Disk& disk, const std::string& directory, Layout layout) {
  const std::optional<Layout> found = layout_of(disk, directory);
  if (!found || *found == layout) return;
  throw Error(Errc::log_layout, "The log in " + directory + " was written with " +
                                    std::string(name_of(*found)) + " and cannot be opened with " +
                                    std::string(name_of(layout)) + ". Set LogOptions::layout to " +
                                    std::string(name_of(*found)) + ", or use another directory.");
}

}  // namespace

std::string compaction_mark(Disk& disk, const std::string& directory) {
  const std::string path = directory + "/base";
  return disk.exists(path) ? std::string(disk.read(path)->bytes()) : std::string();
}

LogIndex scan_beside_writer(Disk& disk, const std::string& directory, Layout layout) {
  // Each try has to be overtaken by a compaction, or by the writer in the middle of a line, to be
  // of no use.
  constexpr int kMostTries = 20;
  std::string last;  // what was wrong the last time
  for (int tries = 0; tries < kMostTries; ++tries) {
    std::string wrong;
    std::exception_ptr thrown;
    try {
      const std::string before = compaction_mark(disk, directory);
      LogIndex index = scan(disk, directory, layout);
      if (compaction_mark(disk, directory) != before) continue;
      for (const Damage& damage : index.damage) wrong += damage.text() + "\n";
      // Real damage is the same the next time.
      if (wrong == last) return index;
      if (wrong.empty()) return index;
    } catch (const Error& error) {
      if (error.code() == Errc::log_layout) throw;
      wrong = error.what();
      thrown = std::current_exception();
    }
    if (thrown != nullptr && wrong == last) std::rethrow_exception(thrown);
    last = std::move(wrong);
  }
  throw Error(Errc::log_busy, "The log in " + directory + " changed each of the " +
                                  std::to_string(kMostTries) +
                                  " times that it was read, because another process writes it. "
                                  "Try again.");
}

LogIndex scan(Disk& disk, const std::string& directory, Layout layout, bool without_base) {
  require_layout(disk, directory, layout);
  LogIndex index;
  Reader reader(disk, directory, index);
  layout == Layout::journal ? reader.read_journal(without_base) : reader.read_files();
  reader.quarantine();
  reader.read_accepted();
  return index;
}

}  // namespace tiffany::wal

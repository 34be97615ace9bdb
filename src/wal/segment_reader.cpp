// The half of LogReader that knows segments: which of them count, and where each ends.
#include <algorithm>
#include <cerrno>

#include "tiffany/io/io_error.hpp"
#include "wal/log_reader.hpp"

namespace tiffany::wal {
namespace {

constexpr std::size_t kFirstLine = std::size_t{64} << 10;  // more than an Owner record ever has

}  // namespace

void LogReader::read_journal(bool without_base) {
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

LogReader::Header LogReader::read_header(const Segment& segment) {
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

std::string_view LogReader::first_line(std::string_view bytes) {
  return bytes.substr(0, std::min(bytes.substr(0, kLongestLine).find('\n'), bytes.size()));
}

bool LogReader::names_segment(const RecordView& view, std::uint32_t number) {
  return view.type == RecordType::Owner && number_in(view.payload, "\"segment\":") == number &&
         number_in(view.payload, "\"epoch\":") && number_in(view.payload, "\"after\":");
}

void LogReader::drop_unborn(std::vector<Header>& headers, const Mark& mark) {
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

void LogReader::drop_outdated(std::vector<Header>& headers) {
  std::uint64_t epoch = 0;
  for (const Header& header : headers) epoch = std::max(epoch, header.epoch);
  while (!headers.empty() && headers.back().valid && headers.back().epoch < epoch) {
    index_.segments.pop_back();
    headers.pop_back();
    followed_ = true;
  }
}

void LogReader::check_gaps_between_segments() {
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

}  // namespace tiffany::wal

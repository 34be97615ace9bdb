#include "wal/side_files.hpp"

#include <charconv>

#include "tiffany/base/crc32c.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::wal {

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

std::optional<std::uint64_t> number_in(std::string_view payload, std::string_view member) {
  const std::size_t at = payload.find(member);
  if (at == std::string_view::npos) return std::nullopt;
  std::uint64_t number = 0;
  const std::string_view rest = payload.substr(at + member.size());
  const auto got = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (got.ec != std::errc()) return std::nullopt;
  return number;
}

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

void require_layout(Disk& disk, const std::string& directory, Layout layout) {
  const std::optional<Layout> found = layout_of(disk, directory);
  if (!found || *found == layout) return;
  throw Error(Errc::log_layout, "The log in " + directory + " was written with " +
                                    std::string(name_of(*found)) + " and cannot be opened with " +
                                    std::string(name_of(layout)) + ". Set LogOptions::layout to " +
                                    std::string(name_of(*found)) + ", or use another directory.");
}

}  // namespace tiffany::wal

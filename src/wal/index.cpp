#include <algorithm>
#include <charconv>
#include <cstdio>
#include <string>
#include <utility>

#include "tiffany/base/crc32c.hpp"
#include "tiffany/wal/scan.hpp"

namespace tiffany::wal {
namespace {

constexpr std::string_view kSuffix = ".journal";

}  // namespace

std::string Damage::text() const {
  std::string text = file;
  if (line != 0) text += ", line " + std::to_string(line);
  return text + " (byte " + std::to_string(offset) + "): expected " + expected + ", found " +
         found + ".";
}

const Damage* LogIndex::unresolved() const noexcept {
  for (const Damage& each : damage) {
    if (!each.task && !each.accepted) return &each;
  }
  return nullptr;
}

TaskLog* LogIndex::find(const Uuid& id) const noexcept { return by_id_.find(id); }

TaskLog& LogIndex::at(const Uuid& id) {
  if (TaskLog* const known = by_id_.find(id)) return *known;
  auto made = std::make_unique<TaskLog>();
  made->id = id;
  TaskLog& task = *made;
  tasks.push_back(std::move(made));
  by_id_.add(task);
  return task;
}

void LogIndex::drop(const std::vector<Uuid>& ids) {
  for (const Uuid& id : ids) by_id_.erase(id);
  std::erase_if(tasks, [this](const auto& task) { return find(task->id) == nullptr; });
}

std::uint32_t seed_of_segment(std::uint32_t number) {
  return crc32c("segment " + std::to_string(number));
}

std::string segment_name(std::uint32_t number) {
  std::string digits = std::to_string(number);
  return std::string(8 - std::min<std::size_t>(8, digits.size()), '0') + digits +
         std::string(kSuffix);
}

std::uint32_t number_of_segment(std::string_view name) noexcept {
  // Only as segment_name() writes it: no two names have one number.
  if (name.size() != 8 + kSuffix.size() || !name.ends_with(kSuffix)) return 0;
  name.remove_suffix(kSuffix.size());
  std::uint32_t number = 0;
  const auto got = std::from_chars(name.data(), name.data() + name.size(), number);
  return got.ec == std::errc() && got.ptr == name.data() + name.size() ? number : 0;
}

std::string base_text(std::uint32_t segment) {
  const std::string number = std::to_string(segment);
  return number + " " + std::to_string(crc32c(number)) + "\n";
}

std::string mark_text(std::uint32_t segment, std::uint64_t size) {
  char text[32];
  std::snprintf(text, sizeof text, "%08u %012llu ", segment, static_cast<unsigned long long>(size));
  std::snprintf(text + 22, 9, "%08x", crc32c(std::string_view(text, 22)));
  return std::string(text, 30);
}

std::string sizes_line(const Uuid& task, std::uint64_t size) {
  const std::string digits = std::to_string(size);
  std::string line = task.text() + " " +
                     std::string(12 - std::min<std::size_t>(12, digits.size()), '0') + digits + " ";
  std::string crc = std::to_string(crc32c(line));
  line += std::string(10 - crc.size(), '0') + crc;
  line.resize(kSizesLine - 1, ' ');
  return line + "\n";
}

std::string accepted_line(const Damage& damage) {
  const std::size_t name = damage.file.rfind('/') + 1;  // the directory may be moved
  return "\naccepted: " + damage.file.substr(name) + " byte " + std::to_string(damage.offset) +
         "\n";
}

}  // namespace tiffany::wal

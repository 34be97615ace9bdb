#include <charconv>
#include <cstdio>

#include "app/commands.hpp"
#include "base/shown_text.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/wal/disk.hpp"
#include "tiffany/wal/scan.hpp"

namespace tiffany::app {

using detail::shown;

bool Words::option(std::string_view name) {
  for (auto word = words_.begin(); word != words_.end(); ++word) {
    if (*word != name) continue;
    words_.erase(word);
    return true;
  }
  return false;
}

std::string Words::option_value(std::string_view name) {
  for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
    if (words_[i] != name) continue;
    std::string value = words_[i + 1];
    words_.erase(words_.begin() + static_cast<std::ptrdiff_t>(i),
                 words_.begin() + static_cast<std::ptrdiff_t>(i) + 2);
    return value;
  }
  return {};
}

std::optional<std::uint64_t> Words::option_number(const std::string& name) {
  const std::string text = option_value(name);
  if (text.empty()) return std::nullopt;
  std::uint64_t number = 0;
  const auto got = std::from_chars(text.data(), text.data() + text.size(), number);
  if (got.ec != std::errc() || got.ptr != text.data() + text.size()) {
    throw Refused{name + " needs a whole number, and \"" + text + "\" is none"};
  }
  return number;
}

std::string Words::take(std::string_view what) {
  if (!more()) throw Refused{"a " + std::string(what) + " is missing"};
  return words_[next_++];
}

Uuid Words::take_id(std::string_view what) {
  const std::string text = take(what);
  const std::optional<Uuid> id = Uuid::parse(text);
  if (!id) throw Refused{"\"" + text + "\" is no UUID of a " + std::string(what)};
  return *id;
}

std::size_t Words::take_number_or(std::size_t otherwise, std::string_view what) {
  if (!more()) return otherwise;
  const std::string text = take(what);
  std::size_t number = 0;
  const char* const last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last) {
    throw Refused{"\"" + text + "\" is no number of " + std::string(what)};
  }
  return number;
}

void Words::end() const {
  if (more()) throw Refused{"\"" + words_[next_] + "\" is more than I understand"};
}

void print(std::string_view lines) {
  std::string out;
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    out += shown(lines.substr(0, end));
    if (end != std::string_view::npos) out += '\n';
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
}

std::shared_ptr<const wal::PayloadCodec>& codec_of_logs() noexcept {
  static std::shared_ptr<const wal::PayloadCodec> codec;
  return codec;
}

wal::LogOptions log_at(const std::string& directory) {
  struct stat about{};
  if (os_world().files().status(directory.c_str(), about) != 0 || !S_ISDIR(about.st_mode)) {
    throw Error(Errc::bad_argument, "There is no directory " + directory + ".");
  }
  wal::LogOptions options(directory);
  options.segment_size = 0;  // the smallest: little is written from here
  options.disk = wal::system_disk();
  const std::optional<wal::Layout> layout = wal::layout_of(*options.disk, directory);
  if (!layout) {
    throw Error(Errc::not_a_log,
                directory +
                    " holds no log: neither a segment (00000001.journal) nor the file of a task "
                    "(<uuid>.wal) is there. If there was a log, its files are gone.");
  }
  options.layout = *layout;
  options.codec = codec_of_logs();
  return options;
}

HostOptions records_only() {
  HostOptions options;
  options.start_paused = true;
  options.records_only = true;
  options.compact_above = 0;
  return options;
}

}  // namespace tiffany::app

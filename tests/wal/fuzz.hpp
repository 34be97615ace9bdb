// Damages logs in every way that comes to mind, and reads them. A reader may complain as it likes.
// It may not crash, read beyond its input, hang, give out a line that is no record, or throw
// anything but an Error: log_damaged from scan(), for a file `base` that says nothing, or whatever
// else when such a log is opened. Checksums are often made right again, so that the rest is tried
// as well.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/crc32c.hpp"
#include "wal/golden_lines.hpp"
#include "wal/story.hpp"

namespace tiffany::wal::test {

class Fuzz {
 public:
  explicit Fuzz(std::uint64_t seed) : random_(seed, "fuzz") {
    for (const Layout layout : {Layout::journal, Layout::files}) {
      Story whole(layout), part(layout);
      auto disk = std::make_shared<FaultDisk>();
      whole.tell(disk);
      corpus_.push_back({layout, disk->contents()});
      disk = std::make_shared<FaultDisk>();
      part.tell_first_part(disk);
      corpus_.push_back({layout, disk->contents()});
    }
    // All types of records, in one file.
    std::string all;
    for (const Golden& golden : kGolden) all += std::string(golden.line) + "\n";
    corpus_.push_back({Layout::files, {{"wal/" + std::string(kId) + ".wal", all}}});
  }

  // Empty, or what went wrong.
  std::string once() {
    const Sample& sample = corpus_[random_.below(corpus_.size())];
    std::map<std::string, std::string> contents = sample.contents;
    const std::uint64_t times = 1 + random_.below(6);
    for (std::uint64_t i = 0; i < times; ++i) mutate(contents);
    const auto disk = std::make_shared<FaultDisk>(contents);
    std::string wrong = lines(contents);
    if (wrong.empty()) wrong = read(*disk, sample.layout);
    if (wrong.empty() && random_.below(4) == 0) wrong = open(disk, sample.layout);
    return wrong;
  }

  std::uint64_t damaged = 0;
  std::uint64_t records = 0;
  std::uint64_t opened = 0;

 private:
  struct Sample {
    Layout layout;
    std::map<std::string, std::string> contents;
  };

  std::uint64_t below(std::uint64_t bound) { return bound == 0 ? 0 : random_.below(bound); }

  std::string& any(std::map<std::string, std::string>& contents) {
    auto at = contents.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(below(contents.size())));
    return at->second;
  }

  void mutate(std::map<std::string, std::string>& contents) {
    std::string& bytes = any(contents);
    const std::size_t used = bytes.find_last_not_of('\0') + 1;
    const std::size_t at = below(used + 1);
    const std::size_t size =
        below(std::min<std::size_t>(used - at, random_.below(2) ? 600 : 8) + 1);
    switch (random_.below(14)) {
      case 0:
        if (at < used)
          bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1u << below(8)));
        break;
      case 1:
        if (at < used) bytes[at] = static_cast<char>(random_.next());
        break;
      case 2:
        bytes.erase(at, size);
        break;
      case 3:
        bytes.insert(at, bytes.substr(below(used), size));
        break;
      case 4:
        bytes.resize(at);
        break;
      case 5:
        bytes.replace(at, size, std::string(size, '\0'));
        break;
      case 6: {
        const std::string piece = any(contents).substr(0, 3000);
        bytes.insert(at, piece.substr(below(piece.size()), below(piece.size())));
        break;
      }
      case 7:
        swap_lines(bytes, at, below(used + 1));
        break;
      case 8:
        change_number(bytes, at);
        break;
      case 9:
        change_token(bytes, at);
        break;
      case 10:
        bytes.insert(at, std::string_view(kTokens[below(std::size(kTokens))]));
        break;
      case 11:
        change_name(contents);
        break;
      case 12:
        change_mark(contents);
        break;
      default:
        change_number(bytes, at);
        break;
    }
    if (random_.below(3) != 0) mend(contents);
  }

  static constexpr const char* kTokens[] = {"\n",
                                            " {",
                                            "\n {\"v\":1",
                                            "\",\"task_id\":\"",
                                            ",\"seq\":",
                                            ",\"crc\":\"",
                                            "\"after\":",
                                            "\"epoch\":",
                                            "Checkpoint",
                                            "TaskExit",
                                            "Command",
                                            "\"op\":\"retry\"",
                                            "ShutdownMarker",
                                            "{\"v\":",
                                            "\"}"};

  void change_token(std::string& bytes, std::size_t from) {
    const std::string_view what = kTokens[below(std::size(kTokens))];
    const std::size_t at = bytes.find(what, from);
    if (at == std::string::npos) return;
    bytes.replace(at, what.size(), kTokens[below(std::size(kTokens))]);
  }
  void change_number(std::string& bytes, std::size_t from) {
    static constexpr const char* kNumbers[] = {"0",
                                               "1",
                                               "2",
                                               "5",
                                               "-1",
                                               "4096",
                                               "4294967295",
                                               "4294967296",
                                               "18446744073709551615",
                                               "99999999999999999999999",
                                               ""};
    const std::size_t at = bytes.find_first_of("0123456789", from);
    if (at == std::string::npos) return;
    std::size_t end = bytes.find_first_not_of("0123456789", at);
    if (end == std::string::npos) end = bytes.size();
    bytes.replace(at, end - at, kNumbers[below(std::size(kNumbers))]);
  }
  static void swap_lines(std::string& bytes, std::size_t a, std::size_t b) {
    if (a > b) std::swap(a, b);
    const auto line = [&](std::size_t in) {
      const std::size_t before = in == 0 ? std::string::npos : bytes.rfind('\n', in - 1);
      const std::size_t begin = before == std::string::npos ? 0 : before + 1;
      const std::size_t end = bytes.find('\n', begin);
      return std::pair(begin, end == std::string::npos ? bytes.size() : end + 1);
    };
    const auto [first, first_end] = line(a);
    const auto [second, second_end] = line(b);
    if (first_end > second) return;
    const std::string one = bytes.substr(first, first_end - first);
    const std::string two = bytes.substr(second, second_end - second);
    bytes.replace(second, two.size(), one);
    bytes.replace(first, one.size(), two);
  }
  void change_name(std::map<std::string, std::string>& contents) {
    static constexpr const char* kNames[] = {"wal/4294967295.journal",
                                             "wal/00000000.journal",
                                             "wal/1.journal",
                                             "wal/.journal",
                                             "wal/00000009.journal",
                                             "wal/99999999.journal",
                                             "wal/synced",
                                             "wal/next",
                                             "wal/-0000001.journal",
                                             "wal/4294967296.journal",
                                             "wal/x.wal",
                                             "wal/00000000-0000-0000-0000-000000000000.wal"};
    auto at = contents.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(below(contents.size())));
    std::string bytes = std::move(at->second);
    contents.erase(at);
    contents[kNames[below(std::size(kNames))]] = std::move(bytes);
  }
  void change_mark(std::map<std::string, std::string>& contents) {
    char text[64];
    std::snprintf(text, sizeof text, "%08u %012llu ", static_cast<unsigned>(below(12)),
                  static_cast<unsigned long long>(below(9000)));
    if (below(8) == 0)
      std::snprintf(text, sizeof text, "%08u %012llu ", 99999999u, 999999999999ull);
    std::snprintf(text + 22, 9, "%08x", crc32c(std::string_view(text, 22)));
    contents["wal/synced"] = std::string(text, 30);
  }

  // Gives lines the checksum that they should have.
  static void mend(std::map<std::string, std::string>& contents) {
    for (auto& [path, bytes] : contents) {
      std::uint32_t seed = 0;
      if (path.ends_with(".journal")) {
        seed = seed_of_segment(
            static_cast<std::uint32_t>(std::strtoul(path.c_str() + 4, nullptr, 10)));
      }
      for (std::size_t at = 0, end = 0; (end = bytes.find('\n', at)) != std::string::npos;
           at = end + 1) {
        if (end - at < 18 || bytes.compare(end - 18, 8, ",\"crc\":\"") != 0) continue;
        char crc[9];
        std::snprintf(
            crc, sizeof crc, "%08x",
            crc32c(std::string_view(bytes).substr(at, end - 18 - at), at == 0 ? 0 : seed));
        bytes.replace(end - 10, 8, crc, 8);
      }
    }
  }

  // Each line by itself, in memory of its own.
  std::string lines(const std::map<std::string, std::string>& contents) {
    for (const auto& [path, bytes] : contents) {
      for (std::size_t at = 0, end = 0; (end = bytes.find('\n', at)) != std::string::npos;
           at = end + 1) {
        const std::vector<char> own(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                                    bytes.begin() + static_cast<std::ptrdiff_t>(end));
        RecordView view;
        const std::string_view line(own.data(), own.size());
        const LineFault fault = read_line(line, 0, view);
        if (fault == LineFault::checksum) checksums_of(line, 0);
        if (fault != LineFault::none) continue;
        const std::string other = reseeded(line, 7);
        RecordView again;
        const std::string_view text = std::string_view(other).substr(0, other.size() - 1);
        if (read_line(text, 7, again) != LineFault::none || again.seq != view.seq ||
            again.payload != view.payload || again.task != view.task) {
          return "not the same with another seed: " + std::string(line);
        }
        parse_time(view.ts);
      }
    }
    return {};
  }

  std::string read(FaultDisk& disk, Layout layout) {
    try {
      const LogIndex index = scan(disk, kDirectory, layout);
      damaged += index.damage.empty() ? 0 : 1;
      records += index.records;
      for (const Damage& damage : index.damage) damage.text();
      for (const auto& task : index.tasks) {
        for (const std::string& line : LineReader(disk, kDirectory).read_all(*task)) {
          RecordView view;
          const std::string_view text = std::string_view(line).substr(0, line.size() - 1);
          if (read_line(text, 0, view) != LineFault::none) return "not a record: " + line;
          if (Uuid::parse(view.task) != task->id) return "of another task: " + line;
        }
      }
    } catch (const Error& e) {
      if (e.code() == Errc::log_damaged && disk.exists("wal/base")) return {};
      if (e.code() == Errc::log_layout) return {};
      return std::string("a reader threw: ") + e.what();
    } catch (const std::exception& e) {
      return std::string("a reader threw: ") + e.what();
    }
    return {};
  }

  // An owner writes behind it, and damage is still known afterwards.
  std::string open(const std::shared_ptr<FaultDisk>& disk, Layout layout) {
    Story story(layout);
    std::string before;
    try {
      for (const Damage& damage : scan(*disk, kDirectory, layout).damage) before += damage.text();
      if (const std::exception_ptr error = story.go_on(disk)) std::rethrow_exception(error);
      ++opened;
    } catch (const Error&) {
      return {};
    } catch (const std::exception& e) {
      return std::string("open threw: ") + e.what();
    }
    if (!before.empty() && scan(*disk, kDirectory, layout).damage.empty()) {
      return "damage was covered up: " + before;
    }
    return read(*disk, layout);
  }

  Random random_;
  std::vector<Sample> corpus_;
};

}  // namespace tiffany::wal::test

#include "agent/file_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "agent/pattern.hpp"
#include "base/utf8.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kMostAnswer = std::size_t{64} << 10;
constexpr std::size_t kLongestLine = 2'000;
constexpr std::size_t kLongestFound = 300;
constexpr std::int64_t kMostLines = 2'000;
constexpr std::size_t kMostListed = 1'000;
constexpr std::size_t kMostFound = 200;
constexpr std::size_t kMostSearched = std::size_t{64} << 20;  // bytes

struct ReadArguments {
  std::string path{};
  std::optional<std::int64_t> from{};
  std::optional<std::int64_t> lines{};
};
TIFFANY_JSON(ReadArguments, path, from, lines);
struct ListArguments {
  std::optional<std::string> path{};
  std::optional<std::string> pattern{};
};
TIFFANY_JSON(ListArguments, path, pattern);
struct SearchArguments {
  std::string text{};
  std::optional<bool> regex{};
  std::optional<bool> ignore_case{};
  std::optional<std::string> path{};
  std::optional<std::string> pattern{};
};
TIFFANY_JSON(SearchArguments, text, regex, ignore_case, path, pattern);
struct EditArguments {
  std::string path{};
  std::string old_text{};
  std::string new_text{};
};
TIFFANY_JSON(EditArguments, path, old_text, new_text);
struct WriteArguments {
  std::string path{};
  std::string text{};
  std::optional<bool> executable{};
};
TIFFANY_JSON(WriteArguments, path, text, executable);
struct RemoveArguments {
  std::string path{};
};
TIFFANY_JSON(RemoveArguments, path);
struct RenameArguments {
  std::string from{};
  std::string to{};
};
TIFFANY_JSON(RenameArguments, from, to);

// The first bytes of a line, not through the middle of a character.
std::string cut_line(std::string_view line, std::size_t most) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() <= most) return std::string(line);
  const std::string begin(tiffany::detail::utf8_prefix(line, most));
  return begin + "... (" + std::to_string(line.size() - begin.size()) + " more bytes in this line)";
}

std::size_t count_lines(std::string_view text) {
  const auto ends = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return ends + (!text.empty() && !text.ends_with('\n') ? 1 : 0);
}

// Calls `each` with the number of a line and the line, without its end, until it returns false.
template <class Each>
void visit_lines(std::string_view text, const Each& each) {
  std::size_t number = 1;
  for (std::size_t at = 0; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (!each(number, text.substr(at, end - at))) return;
    at = end + 1;
  }
}

Pattern search_pattern(const SearchArguments& ask) {
  const bool ignore_case = ask.ignore_case.value_or(false);
  if (ask.regex.value_or(false)) return Pattern(ask.text, ignore_case);
  if (ask.text.find('\n') != std::string::npos) {
    throw Error(Errc::bad_tool, "The text has a line break, and lines are searched one by one.");
  }
  return Pattern::literal(ask.text, ignore_case);
}

}  // namespace

std::string canvas_path(std::string path) {
  while (path.starts_with("./")) path.erase(0, 2);
  return path == "." ? std::string() : path;
}
std::string canvas_directory(std::string path) {
  path = canvas_path(std::move(path));
  while (path.ends_with('/')) path.pop_back();
  return path;
}

std::string read_lines(Canvas& canvas, std::string_view arguments) {
  const auto ask = from_json<ReadArguments>(arguments);
  const std::string path = canvas_path(ask.path);
  const CanvasFile file = canvas.read(path);
  if (file.binary) {
    return path + " is a binary file of " + std::to_string(file.bytes.size()) + " bytes.";
  }
  if (file.bytes.empty()) return path + " is empty.";
  const auto from = static_cast<std::size_t>(ask.from.value_or(1));
  const auto most = static_cast<std::size_t>(ask.lines.value_or(kMostLines));
  const std::size_t all = count_lines(file.bytes);
  if (from > all) {
    throw Error(Errc::bad_tool, path + " has " + std::to_string(all) + " lines, and line " +
                                    std::to_string(from) + " is behind them.");
  }
  std::string out;
  std::size_t last = from - 1;
  visit_lines(file.bytes, [&](std::size_t number, std::string_view line) {
    if (number < from) return true;
    if (number >= from + most) return false;
    std::string digits = std::to_string(number);
    digits.insert(0, digits.size() < 6 ? 6 - digits.size() : 0, ' ');
    const std::string shown = digits + "\t" + cut_line(line, kLongestLine) + "\n";
    if (out.size() + shown.size() > kMostAnswer) return false;
    out += shown;
    last = number;
    return true;
  });
  if (from > 1 || last < all) {
    out += "(lines " + std::to_string(from) + " to " + std::to_string(last) + " of " +
           std::to_string(all) +
           (last < all ? "; read on from line " + std::to_string(last + 1) : "") + ")\n";
  }
  return out;
}

std::string list_files(Canvas& canvas, std::string_view arguments) {
  const auto ask = from_json<ListArguments>(arguments);
  const CanvasListing listing =
      canvas.list(canvas_directory(ask.path.value_or("")), ask.pattern.value_or(""), kMostListed);
  std::string out;
  for (const CanvasEntry& entry : listing.entries) {
    constexpr std::string_view kMarks[] = {"", "/", " (symbolic link)", " (submodule)"};
    out += entry.path;
    out += kMarks[static_cast<std::size_t>(entry.kind)];
    out += entry.executable ? " (executable)\n" : "\n";
  }
  if (out.size() > kMostAnswer) {
    out.resize(out.rfind('\n', kMostAnswer) + 1);
    return out + "(there are more: give a directory or a pattern)\n";
  }
  if (listing.cut) out += "(there are more: give a directory or a pattern)\n";
  return out.empty() ? "There are no such files." : out;
}

std::string search_files(Canvas& canvas, std::string_view arguments) {
  const auto ask = from_json<SearchArguments>(arguments);
  const Pattern wanted = search_pattern(ask);
  // Most searches are for one text as it is, which std::string finds faster.
  const bool plain = !ask.regex.value_or(false) && !ask.ignore_case.value_or(false);
  const CanvasListing listing =
      canvas.list(canvas_directory(ask.path.value_or("")),
                  ask.pattern.value_or("").empty() ? "**" : *ask.pattern, canvas.limits().files);
  std::string out;
  std::string left;
  std::size_t found = 0;
  std::size_t searched = 0;
  std::size_t unread = 0;
  for (const CanvasEntry& entry : listing.entries) {
    if (entry.kind != CanvasKind::file) continue;
    if (searched > kMostSearched) left = "(not all files were searched: give a directory)\n";
    if (!left.empty()) break;
    CanvasFile file;
    try {
      file = canvas.read(entry.path);
    } catch (const Error& error) {
      if (error.code() != Errc::bad_argument) throw;
      file.binary = true;  // too large to be read
    }
    if (file.binary) {
      ++unread;
      continue;
    }
    searched += file.bytes.size() + 1;
    if (plain && file.bytes.find(ask.text) == std::string::npos) continue;
    visit_lines(file.bytes, [&](std::size_t number, std::string_view line) {
      const bool here = plain ? line.find(ask.text) != std::string_view::npos
                              : wanted.found_in(line.substr(0, kMostAnswer));
      if (!here) return true;
      const std::string shown =
          entry.path + ":" + std::to_string(number) + ": " + cut_line(line, kLongestFound) + "\n";
      if (++found > kMostFound || out.size() + shown.size() > kMostAnswer) {
        left = "(there are more: search in a directory, or for something rarer)\n";
        return false;
      }
      out += shown;
      return true;
    });
  }
  if (out.empty() && left.empty()) out = "Nothing was found.\n";
  if (unread > 0)
    out += "(" + std::to_string(unread) + " files were not searched: binary, or too large)\n";
  return out + left;
}

std::string edit_file(Canvas& canvas, std::string_view arguments) {
  const auto ask = from_json<EditArguments>(arguments);
  const std::string path = canvas_path(ask.path);
  canvas.edit(path, ask.old_text, ask.new_text);
  const std::size_t before = count_lines(ask.old_text);
  return path + " is changed: " + std::to_string(before) + (before == 1 ? " line" : " lines") +
         " became " + std::to_string(count_lines(ask.new_text)) + ".";
}

std::string write_whole(Canvas& canvas, std::string_view arguments) {
  const auto ask = from_json<WriteArguments>(arguments);
  const std::string path = canvas_path(ask.path);
  const bool there = canvas.has(path);
  canvas.write(path, ask.text, ask.executable);
  return path + (there ? " is overwritten: " : " is new: ") +
         std::to_string(count_lines(ask.text)) + " lines.";
}

std::string remove_file(Canvas& canvas, std::string_view arguments) {
  const std::string path = canvas_path(from_json<RemoveArguments>(arguments).path);
  canvas.remove(path);
  return path + " is removed.";
}

std::string rename_file(Canvas& canvas, std::string_view arguments) {
  const auto ask = from_json<RenameArguments>(arguments);
  const std::string from = canvas_path(ask.from);
  const std::string to = canvas_path(ask.to);
  canvas.rename(from, to);
  return from + " is " + to + " now.";
}

}  // namespace tiffany::agent

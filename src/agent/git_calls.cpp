// What git says of a canvas: its changes, and the history of its base.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "agent/file_calls.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/wal/record.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kMostGitAnswer = std::size_t{64} << 10;
constexpr std::int64_t kMostCommits = 20;  // when nobody says how many

struct DiffArguments {
  std::optional<std::string> path{};
};
TIFFANY_JSON(DiffArguments, path);
struct LogArguments {
  std::optional<std::string> path{};
  std::optional<std::int64_t> count{};
};
TIFFANY_JSON(LogArguments, path, count);

std::string cut_lines(std::string text, const std::string& advice) {
  if (text.size() <= kMostGitAnswer) return text;
  const std::size_t end = text.rfind('\n', kMostGitAnswer);
  text.resize(end == std::string::npos ? kMostGitAnswer : end + 1);
  return text + "(there is more: " + advice + ")\n";
}

}  // namespace

std::string show_status(Canvas& canvas, std::string_view /*arguments*/) {
  std::string out = "base " + (canvas.base().empty() ? "none" : canvas.base()) + "\n";
  const std::vector<ChangedFile> files = canvas.files();
  for (const ChangedFile& each : files) {
    out += std::string(name_of(each.change)) + " " + each.path;
    if (!each.old_path.empty()) out += " (was " + each.old_path + ")";
    if (each.binary) {
      out += " (binary)";
    } else {
      out += " +" + std::to_string(each.added) + " -" + std::to_string(each.removed);
    }
    out += each.mode_changed ? " (mode)\n" : "\n";
  }
  if (files.empty()) return out + "Nothing is changed.\n";
  return cut_lines(std::move(out), "git_diff with a path shows the changes below it");
}

std::string show_diff(Canvas& canvas, std::string_view arguments) {
  const auto ask = from_json<DiffArguments>(arguments);
  const std::string path = canvas_directory(ask.path.value_or(""));
  std::string text = canvas.diff(path).text;
  if (text.empty()) return "Nothing is changed" + (path.empty() ? "" : " in " + path) + ".";
  return cut_lines(std::move(text), "give a path");
}

std::string show_log(Canvas& canvas, std::string_view arguments) {
  const auto ask = from_json<LogArguments>(arguments);
  const auto most = static_cast<std::size_t>(ask.count.value_or(kMostCommits));
  const CanvasLog log = canvas.log(most, canvas_directory(ask.path.value_or("")));
  std::string out;
  for (const CanvasCommit& each : log.commits) {
    out += each.id.substr(0, 12) + " " + wal::text_of_time(each.time_us).substr(0, 10) + " " +
           each.author + ": " + each.subject + "\n";
  }
  if (out.empty()) out = "There are no such commits.\n";
  if (log.cut) out += "(there are more, or not all were looked at)\n";
  return cut_lines(std::move(out), "ask for fewer");
}

}  // namespace tiffany::agent

#include "app/cli_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "app/cli_grammar.hpp"
#include "app/commands.hpp"
#include "app/small_files.hpp"
#include "base/shown_text.hpp"
#include "tiffany/base/calendar.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/time_zone.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/detail/world/terminal_size.hpp"

namespace tiffany::app {
namespace {

using detail::shown;

bool variable_is_set(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

// https://no-color.org, https://bixense.com/clicolors
bool wants_colour(const std::string& when, bool terminal) {
  if (when == "always") return true;
  if (when == "never" || variable_is_set("NO_COLOR")) return false;
  const char* const forced = std::getenv("CLICOLOR_FORCE");
  if (forced != nullptr && *forced != '\0' && std::string_view(forced) != "0") return true;
  const char* const term = std::getenv("TERM");
  return terminal && term != nullptr && std::string_view(term) != "dumb" && *term != '\0';
}

Format format_named(const std::string& name) {
  if (name == "wide") return Format::wide;
  if (name == "json") return Format::json;
  if (name == "jsonl") return Format::jsonl;
  if (name == "name") return Format::name;
  return Format::table;
}

// TZ, or what the machine is set to; UTC when neither can be read.
const TimeZone& zone_of_user() {
  static const TimeZone kZone = [] {
    const char* const named = std::getenv("TZ");
    std::string path = "/etc/localtime";
    if (named != nullptr) {
      const std::string_view name = *named == ':' ? named + 1 : named;
      if (name.empty() || name.find("..") != std::string_view::npos) return TimeZone();
      path = name.front() == '/' ? std::string(name) : "/usr/share/zoneinfo/" + std::string(name);
    }
    try {
      const std::string bytes = read_small_file(path).value_or("");
      return bytes.empty() ? TimeZone() : TimeZone::parse("local", bytes);
    } catch (const Error&) {
      return TimeZone();
    }
  }();
  return kZone;
}

// Columns that a text takes: characters, which for most languages is the same.
std::size_t width_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string cut_to(const std::string& text, std::size_t width) {
  if (width_of(text) <= width) return text;
  if (width == 0) return "";
  std::size_t at = 0;
  for (std::size_t seen = 0; at < text.size(); ++at) {
    if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
    if (seen++ == width - 1) break;
  }
  return text.substr(0, at) + "…";
}

// Makes the widest columns of a table narrower until all fit, with two blanks between them. Those
// in `whole` stay as they are.
void fit_to(std::vector<std::size_t>& widths, const std::vector<bool>& whole, std::size_t columns) {
  constexpr std::size_t kLeast = 4;
  std::size_t all = 0;
  for (const std::size_t width : widths) all += width + 2;
  while (all > columns + 2) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i < widths.size(); ++i) {
      if (whole[i] || widths[i] <= kLeast) continue;
      if (widest == widths.size() || widths[i] > widths[widest]) widest = i;
    }
    if (widest == widths.size()) break;
    --widths[widest];
    --all;
  }
}

void write_to(std::FILE* file, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), file);
}

}  // namespace

std::string short_duration(std::int64_t microseconds) {
  const std::int64_t seconds = std::max<std::int64_t>(microseconds, 0) / 1'000'000;
  const auto two = [](std::int64_t n) { return (n < 10 ? "0" : "") + std::to_string(n); };
  if (seconds < 60) return std::to_string(seconds) + "s";
  if (seconds < 3600) return std::to_string(seconds / 60) + "m" + two(seconds % 60) + "s";
  if (seconds < 86400) return std::to_string(seconds / 3600) + "h" + two(seconds / 60 % 60) + "m";
  return std::to_string(seconds / 86400) + "d" + two(seconds / 3600 % 24) + "h";
}

Paint paint_of_status(std::string_view status) noexcept {
  if (status == "completed") return Paint::good;
  if (status == "failed" || status == "diverged" || status == "quarantined") return Paint::bad;
  if (status == "paused" || status == "cancelled" || status == "queued") return Paint::notice;
  return Paint::plain;
}

Output::Output(std::string program, const Given& given)
    : program_(std::move(program)),
      format_(format_named(given.text("--output", "table"))),
      headers_(!given.has("--no-headers")),
      quiet_(given.has("--quiet")),
      utc_(given.has("--utc")),
      iso_(given.text("--time", "human") == "iso") {
  const auto size = detail::terminal_size(1);
  terminal_ = size.has_value();
  asks_ = detail::terminal_size(0).has_value() && detail::terminal_size(2).has_value();
  colour_ = wants_colour(given.text("--color", "auto"), terminal_);
  if (terminal_) columns_ = size->columns > 0 ? size->columns : 80;
}

std::string Output::painted(std::string_view text, Paint paint) const {
  if (!colour_ || paint == Paint::plain || text.empty()) return std::string(text);
  constexpr std::array<std::string_view, 5> kCodes{"0", "32", "31", "33", "2"};
  return "\x1b[" + std::string(kCodes[static_cast<std::size_t>(paint)]) + "m" + std::string(text) +
         "\x1b[0m";
}

std::string Output::table_text(const std::vector<Column>& columns,
                               const std::vector<std::vector<Cell>>& rows) const {
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].wide || format_ == Format::wide) taken.push_back(i);
  }
  std::vector<std::vector<std::string>> texts;  // of rows, harmless
  std::vector<std::size_t> widths;
  for (const std::size_t i : taken) widths.push_back(headers_ ? width_of(columns[i].name) : 0);
  for (const auto& row : rows) {
    std::vector<std::string>& line = texts.emplace_back();
    for (std::size_t k = 0; k < taken.size(); ++k) {
      line.push_back(shown(row[taken[k]].text));
      widths[k] = std::max(widths[k], width_of(line.back()));
    }
  }
  std::vector<bool> whole;
  for (const std::size_t i : taken) whole.push_back(columns[i].whole);
  if (columns_ != 0 && format_ != Format::wide) fit_to(widths, whole, columns_);
  std::string out;
  const auto add_line = [&](const auto& text_of, const auto& paint_of) {
    std::string line;
    for (std::size_t k = 0; k < taken.size(); ++k) {
      const std::string text = cut_to(text_of(k), widths[k]);
      line += painted(text, paint_of(k));
      line += std::string(widths[k] - width_of(text) + 2, ' ');
    }
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  };
  if (headers_) {
    add_line([&](std::size_t k) { return columns[taken[k]].name; },
             [](std::size_t) { return Paint::faint; });
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    add_line([&](std::size_t k) { return texts[r][k]; },
             [&](std::size_t k) { return rows[r][taken[k]].paint; });
  }
  return out;
}

void Output::table(const std::vector<Column>& columns,
                   const std::vector<std::vector<Cell>>& rows) const {
  write_to(stdout, table_text(columns, rows));
}

void Output::json(const Json& value) const { print(value.raw() + "\n"); }

void Output::done(const Json& answer, std::string_view words) const {
  if (this->json()) {
    json(answer);
  } else if (!quiet()) {
    text(shown(words) + "\n");
  }
}

void Output::json_list(const Json& answer, std::string_view member) const {
  if (format_ == Format::json) return json(answer);
  for (const Json& each : answer[member].elements()) json(each);
}

std::string Output::cut(const std::string& line) const {
  return columns_ == 0 ? line : cut_to(line, columns_);
}

std::string Output::id(const std::string& whole) const {
  constexpr std::size_t kShort = 8;
  return terminal_ && format_ != Format::wide ? whole.substr(0, kShort) : whole;
}

void Output::json_lines(const std::vector<Json>& all) const {
  if (format_ == Format::jsonl) {
    for (const Json& each : all) json(each);
    return;
  }
  std::string list = "[";
  for (const Json& each : all) list += (list.size() == 1 ? "" : ",\n") + each.raw();
  print(list + "]\n");
}

void Output::text(std::string_view lines) const { print(lines); }

void Output::raw(std::string_view lines) const { write_to(stdout, lines); }

void Output::note(std::string_view sentence) const {
  if (quiet_) return;
  std::fflush(stdout);
  write_to(stderr, shown(sentence) + "\n");
}
void Output::complain(std::string_view sentence) const {
  std::fflush(stdout);
  write_to(stderr, program_ + ": " + shown(sentence) + "\n");
}

void Output::field(std::string_view name, std::string_view value, Paint paint) const {
  if (value.empty()) return;
  constexpr std::size_t kNames = 12;
  std::string line(name);
  line += std::string(line.size() < kNames ? kNames - line.size() : 1, ' ');
  write_to(stdout, line + painted(shown(value), paint) + "\n");
}

std::int64_t Output::local(std::int64_t microseconds) const {
  if (utc_) return microseconds;
  return microseconds +
         std::int64_t{zone_of_user().offset_at(microseconds / 1'000'000)} * 1'000'000;
}

std::string Output::age(const std::string& time) const {
  const std::optional<std::int64_t> then = parse_utc(time);
  if (!then) return time;
  if (iso_) return time;
  const std::int64_t now = World::current().wall_clock_us().value_or(0);
  return short_duration(now - *then);
}
std::string Output::clock(const std::string& time) const {
  const std::optional<std::int64_t> then = parse_utc(time);
  if (!then || iso_) return time;
  return utc_text(local(*then)).substr(11, 8);
}
std::string Output::moment(std::int64_t microseconds) const {
  return moment(utc_text(microseconds));
}
std::string Output::moment(const std::string& time) const {
  const std::optional<std::int64_t> then = parse_utc(time);
  if (!then || iso_) return time;
  std::string text = utc_text(local(*then)).substr(0, 19);
  text[10] = ' ';
  return text;
}

bool Output::gone() const { return std::ferror(stdout) != 0; }

Output Output::for_screen(std::size_t columns) const {
  Output plain = *this;
  plain.colour_ = false;
  plain.columns_ = columns;
  plain.headers_ = true;
  return plain;
}

int Output::finish() const {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return 0;
  if (errno == EPIPE || errno == 0) return 0;  // the reader has had enough
  write_to(stderr, program_ + ": standard output cannot be written to.\n");
  return 1;
}

}  // namespace tiffany::app

// What commands print: data to standard output, everything else to standard error. Internal.
//
// Off a terminal nothing is coloured, cut off or rewritten. Text of tasks is made harmless
// (base/shown_text.hpp) before it is printed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli_json.hpp"

namespace tiffany::app {

enum class Format : std::uint8_t { table, wide, json, jsonl, name };
enum class Paint : std::uint8_t { plain, good, bad, notice, faint };

class Given;

struct Column {
  std::string name;
  bool wide = false;   // with -o wide only
  bool whole = false;  // never cut: what somebody types again
};
struct Cell {
  Cell(std::string of, Paint how = Paint::plain) : text(std::move(of)), paint(how) {}  // NOLINT
  std::string text;
  Paint paint;
};

class Output {
 public:
  Output(std::string program, const Given& given);

  Format format() const noexcept { return format_; }
  bool json() const noexcept { return format_ == Format::json || format_ == Format::jsonl; }
  bool quiet() const noexcept { return quiet_; }
  bool terminal() const noexcept { return terminal_; }  // standard output is one
  bool asks() const noexcept { return asks_; }          // standard input and error are one
  std::size_t columns() const noexcept { return columns_; }

  // Each row has a cell for each column. On a terminal the widest columns are cut to fit.
  void table(const std::vector<Column>& columns, const std::vector<std::vector<Cell>>& rows) const;
  std::string table_text(const std::vector<Column>& columns,
                         const std::vector<std::vector<Cell>>& rows) const;
  // One answer, as -o json and jsonl print it.
  void json(const Json& value) const;
  // What was done: as JSON, or as a line of words, which may be of tasks.
  void done(const Json& answer, std::string_view words) const;
  // The elements of a list: with -o json the whole answer, with jsonl one in a line.
  void json_list(const Json& answer, std::string_view member) const;
  // Elements that are no list of an answer: with -o json as one, with jsonl one in a line.
  void json_lines(const std::vector<Json>& all) const;
  // Lines for people, with text of tasks already in them.
  void text(std::string_view lines) const;
  // The same, with colours in them: text of tasks was given to shown() before.
  void raw(std::string_view lines) const;
  // Beside the data; nothing with --quiet.
  void note(std::string_view sentence) const;
  // Always.
  void complain(std::string_view sentence) const;
  // "name  value" of one thing.
  void field(std::string_view name, std::string_view value, Paint paint = Paint::plain) const;
  std::string painted(std::string_view text, Paint paint) const;

  // A time of the API ("2026-11-17T09:30:00.000250Z"): how long ago it is, or the time itself with
  // --time iso. Empty for none.
  std::string age(const std::string& time) const;
  // The time of day of an event, in the zone of the user or UTC.
  std::string clock(const std::string& time) const;
  // Date and time; of a text, or of microseconds since 1970.
  std::string moment(const std::string& time) const;
  std::string moment(std::int64_t microseconds) const;
  // A line, cut to fit on a terminal.
  std::string cut(const std::string& line) const;
  // The id of a task or a promise: short on a terminal, where a person reads it.
  std::string id(const std::string& whole) const;
  // Everything was written; 0, or 1 when it could not be. A reader that went is no failure.
  int finish() const;
  bool gone() const;  // whoever read standard output has gone
  // The same for a screen of that width: tables without colours.
  Output for_screen(std::size_t columns) const;

 private:
  std::int64_t local(std::int64_t microseconds) const;
  std::string program_;
  Format format_ = Format::table;
  bool headers_ = true;
  bool colour_ = false;
  bool quiet_ = false;
  bool utc_ = false;
  bool iso_ = false;
  bool terminal_ = false;
  bool asks_ = false;
  std::size_t columns_ = 0;  // 0: as many as it takes
};

// "4m12s", of two units at the most.
std::string short_duration(std::int64_t microseconds);
Paint paint_of_status(std::string_view status) noexcept;

}  // namespace tiffany::app

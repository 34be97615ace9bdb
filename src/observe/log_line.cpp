#include "observe/log_line.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>

#include "base/plain_text.hpp"
#include "base/shown_text.hpp"
#include "tiffany/base/calendar.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany::observe::log {

namespace {

template <class N>
void append_number(std::string& out, N number) {
  char digits[32];
  out.append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

// JSON is written into memory of its own, whose size was worked out before: a line has some twenty
// pieces, and a check of the room for each would be most of the work.
class JsonOut {
 public:
  explicit JsonOut(char* at) noexcept : begin_(at), at_(at) {}

  void raw(std::string_view text) noexcept {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void raw(char c) noexcept { *at_++ = c; }
  template <class N>
  void number(N number) noexcept {
    at_ = std::to_chars(at_, at_ + kLongestNumber, number).ptr;
  }
  // As to_chars, which takes longer than the rest of a line: what has three decimals at the most
  // and is not much is written as an integer of thousandths. The shortest text of such a number is
  // unique, and not shorter with an exponent.
  void decimal(double value) noexcept {
    const double size = std::fabs(value);
    const auto thousandths = static_cast<std::uint32_t>(size < 100'000 ? size * 1000 + 0.5 : 0);
    if (thousandths == 0 || static_cast<double>(thousandths) / 1000 != size) return number(value);
    if (value < 0) raw('-');
    number(thousandths / 1000);
    std::uint32_t rest = thousandths % 1000;
    if (rest == 0) return;
    raw('.');
    for (std::uint32_t place = 100; rest > 0; place /= 10) {
      raw(static_cast<char>('0' + rest / place));
      rest %= place;
    }
  }
  // Most text has nothing to escape.
  void quoted(std::string_view text) {
    *at_ = '"';
    if (tiffany::detail::copy_plain(at_ + 1, text)) [[likely]] {
      at_ += text.size() + 2;
      at_[-1] = '"';
    } else {
      std::string escaped;
      JsonWriter(escaped).value(text);
      raw(escaped);
    }
  }
  void key(std::string_view name) {
    if (comma_) raw(',');
    comma_ = true;
    quoted(name);
    raw(':');
  }
  void field(const Field& field) {
    switch (field.kind()) {
      case Field::Kind::text:
        return quoted(field.text());
      case Field::Kind::integer:
        return number(field.integer());
      case Field::Kind::natural:
        return number(field.natural());
      case Field::Kind::truth:
        return raw(field.truth() ? std::string_view("true") : std::string_view("false"));
      case Field::Kind::number:
        if (std::isfinite(field.number())) return decimal(field.number());
        break;
      case Field::Kind::uuid:
        break;
    }
    std::string text;
    field.append_json(text);
    raw(text);
  }
  void back() noexcept { --at_; }
  std::string_view text() const noexcept {
    return {begin_, static_cast<std::size_t>(at_ - begin_)};
  }

  static constexpr std::size_t kLongestNumber = 48;  // a Uuid with its quotes, too
  // At most: \u0000 for each byte, and quotes.
  static constexpr std::size_t quoted_size(std::size_t text) noexcept { return 6 * text + 2; }

 private:
  char* begin_;
  char* at_;
  bool comma_ = false;
};

// More than the line can take.
std::size_t most_bytes(const Line& line, std::string_view file) noexcept {
  constexpr std::size_t kFixed = 512;  // names of members, time, level, numbers
  std::size_t size = kFixed + JsonOut::quoted_size(line.target.size()) +
                     JsonOut::quoted_size(line.message.size()) +
                     JsonOut::quoted_size(line.task_name.size());
  for (const Field& field : line.fields) {
    size += JsonOut::quoted_size(field.key().size()) + 2 +
            (field.kind() == Field::Kind::text ? JsonOut::quoted_size(field.text().size())
                                               : JsonOut::kLongestNumber);
  }
  if (line.shared != nullptr) {
    for (const auto& [name, value] : *line.shared) {
      size += JsonOut::quoted_size(name.size()) + 2 + JsonOut::quoted_size(value.size());
    }
  }
  return size + JsonOut::quoted_size(file.size());
}

void write_json(JsonOut& out, const Line& line, std::string_view file, Stamp& stamp,
                std::int64_t now) {
  out.raw(R"({"timestamp":")");
  out.raw(stamp.text(now));
  out.raw(R"(Z","level":")");
  out.raw(name_of(line.level));
  out.raw(R"(","target":)");
  out.quoted(line.target);
  out.raw(R"(,"message":)");
  out.quoted(line.message);
  out.raw(R"(,"fields":{)");
  for (const Field& field : line.fields) {
    out.key(field.key());
    out.field(field);
  }
  if (line.shared != nullptr) {
    for (const auto& [name, value] : *line.shared) {
      out.key(name);
      out.quoted(value);
    }
  }
  if (line.task) {
    out.key("tid");
    out.number(line.task.slot());
    if (!line.task_name.empty()) {
      out.key("task");
      out.quoted(line.task_name);
    }
  }
  if (line.span) {
    const std::string both = line.span->traceparent();
    out.key("trace_id");
    out.quoted(std::string_view(both).substr(3, 32));
    out.key("span_id");
    out.quoted(std::string_view(both).substr(36, 16));
  }
  if (line.site != nullptr && line.site->line() != 0) {
    out.key("loc");
    out.quoted(file);
    out.back();  // the quote comes behind the line
    out.raw(':');
    out.number(line.site->line());
    out.raw('"');
  }
  if (line.suppressed > 0) {
    out.key("suppressed");
    out.number(line.suppressed);
  }
  out.raw("}}\n");
}

}  // namespace

void append_json(std::string& to, const Line& line, Stamp& stamp, std::int64_t now) {
  constexpr std::size_t kMostLines = 4096;
  const std::string_view file = line.site != nullptr ? file_text(*line.site) : std::string_view();
  const std::size_t most = most_bytes(line, file);
  if (most <= kMostLines) {
    char memory[kMostLines];
    JsonOut out(memory);
    write_json(out, line, file, stamp, now);
    to += out.text();
  } else {
    const auto memory = std::make_unique_for_overwrite<char[]>(most);
    JsonOut out(memory.get());
    write_json(out, line, file, stamp, now);
    to += out.text();
  }
}

void append_for_people(std::string& out, const Line& line, Stamp& stamp, std::int64_t now,
                       bool colours) {
  constexpr std::array<std::string_view, 5> kColours{"\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[36m",
                                                     "\x1b[2m"};
  const std::string_view time = stamp.text(now);
  out += time.substr(time.find('T') + 1, 12);  // the time of day, to the millisecond
  out += ' ';
  if (colours) out += kColours[static_cast<std::size_t>(line.level)];
  out += name_of(line.level);
  if (colours) out += "\x1b[0m";
  out.append(name_of(line.level).size() < 5 ? 2 : 1, ' ');
  if (line.target != "app") {
    out += tiffany::detail::shown(line.target);
    out += ": ";
  }
  out += tiffany::detail::shown(line.message);
  for (const Field& field : line.fields) {
    out += ' ';
    out += tiffany::detail::shown(field.key());
    out += '=';
    field.append_plain(out);
  }
  if (line.shared != nullptr) {
    for (const auto& [name, value] : *line.shared) {
      out += ' ';
      out += tiffany::detail::shown(name);
      out += '=';
      out += tiffany::detail::shown(value);
    }
  }
  if (line.suppressed > 0) {
    out += " suppressed=";
    append_number(out, line.suppressed);
  }
  out += colours ? " \x1b[2m(" : " (";
  if (line.site != nullptr && line.site->line() != 0) out += site_text(*line.site);
  if (line.task) {
    if (out.back() != '(') out += ", ";
    out += "task #";
    append_number(out, line.task.slot());
    if (!line.task_name.empty()) out += " " + tiffany::detail::shown(line.task_name);
  }
  if (out.back() == '(') {
    out.resize(out.size() - (colours ? 6 : 2));
  } else {
    out += ')';
  }
  if (colours) out += "\x1b[0m";
  out += '\n';
}

void Field::append_json(std::string& out) const {
  switch (kind_) {
    case Kind::integer:
      return append_number(out, value_.integer);
    case Kind::natural:
      return append_number(out, value_.natural);
    case Kind::number:
      if (std::isfinite(value_.number)) return append_number(out, value_.number);
      out += std::isnan(value_.number) ? "\"NaN\"" : value_.number > 0 ? "\"Inf\"" : "\"-Inf\"";
      return;
    case Kind::truth:
      out += value_.truth ? "true" : "false";
      return;
    case Kind::uuid:
      out += '"' + value_.uuid->text() + '"';
      return;
    case Kind::text:
      return JsonWriter(out).value(text());
  }
}

void Field::append_plain(std::string& out) const {
  if (kind_ != Kind::text) return append_json(out);
  const std::string shown = tiffany::detail::shown(text());
  if (!shown.empty() && shown.find_first_of(" =\"") == std::string::npos) {
    out += shown;
  } else {
    out += '"' + shown + '"';
  }
}

}  // namespace tiffany::observe::log

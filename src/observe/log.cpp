#include "tiffany/observe/log.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "base/plain_text.hpp"
#include "base/shown_text.hpp"
#include "tiffany/base/calendar.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/detail/world/line_writer.hpp"
#include "tiffany/observe/span.hpp"

namespace tiffany::observe::log {

namespace {

constexpr std::array<std::string_view, 5> kNames{"ERROR", "WARN", "INFO", "DEBUG", "TRACE"};

template <class N>
void append_number(std::string& out, N number) {
  char digits[32];
  out.append(digits, std::to_chars(std::begin(digits), std::end(digits), number).ptr);
}

// ---- Time ----

// The part of a time stamp down to the second is the same for many lines.
class Stamp {
 public:
  // 2026-11-17T09:30:00.000250; holds until the next one is made.
  std::string_view text(std::int64_t microseconds) {
    std::int64_t second = microseconds / 1'000'000;
    std::int64_t rest = microseconds % 1'000'000;
    if (rest < 0) {
      --second;
      rest += 1'000'000;
    }
    if (second != second_ || text_.empty()) make(second);
    for (std::size_t i = text_.size(); text_[--i] != '.'; rest /= 10) {
      text_[i] = static_cast<char>('0' + rest % 10);
    }
    return text_;
  }

 private:
  void make(std::int64_t second) {
    second_ = second;
    text_ = utc_text(second * 1'000'000);
    text_.pop_back();  // the Z comes with what is around it
  }

  std::int64_t second_ = 0;
  std::string text_;
};

// In a world whose only time is virtual, the time of the scheduler, from 1970 on.
std::int64_t now_us() {
  if (const auto wall = World::current().wall_clock_us()) return *wall;
  const Scheduler* scheduler = Scheduler::current();
  return scheduler == nullptr ? 0
                              : std::chrono::duration_cast<std::chrono::microseconds>(
                                    scheduler->now().time_since_epoch())
                                    .count();
}

// ---- Levels ----

struct Levels {
  Level all = Level::info;
  std::map<std::string, Level, std::less<>> targets{};

  Level of(std::string_view target) const noexcept {
    for (std::string_view part = target; !part.empty();) {
      if (const auto found = targets.find(part); found != targets.end()) return found->second;
      const std::size_t end = part.rfind("::");
      if (end == std::string_view::npos) break;
      part = part.substr(0, end);
    }
    return all;
  }
};

Level level_of(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  const auto found = std::find(kNames.begin(), kNames.end(), upper);
  if (found == kNames.end()) {
    throw Error(Errc::bad_argument, "\"" + std::string(text) +
                                        "\" is no level of the log: error, warn, info, debug or "
                                        "trace, alone or behind target=.");
  }
  return static_cast<Level>(found - kNames.begin());
}

Levels parse_levels(std::string_view text) {
  Levels all;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      all.all = level_of(part);
    } else {
      all.targets[std::string(part.substr(0, equals))] = level_of(part.substr(equals + 1));
    }
  }
  return all;
}

// ---- Lines of one place ----

// Counts lines by where they are written, a second at a time. Places that share a row share its
// bound: there are more rows than a program has places that write much.
class Rates {
 public:
  // Nothing: the line is one too many. Else how many were before it.
  std::optional<std::uint64_t> admit(const Site& site, std::int64_t now, std::uint32_t most) {
    const auto hash = (reinterpret_cast<std::uintptr_t>(site.file_name()) >> 3) * 31 + site.line();
    Row& row = rows_[hash % rows_.size()];
    const std::int64_t second = now / 1'000'000;
    if (row.second != second) {
      row.second = second;
      row.lines = 0;
    }
    if (row.lines >= most) {
      ++row.suppressed;
      return std::nullopt;
    }
    ++row.lines;
    return std::exchange(row.suppressed, 0);
  }

 private:
  struct Row {
    std::int64_t second = 0;
    std::uint32_t lines = 0;
    std::uint64_t suppressed = 0;
  };
  std::array<Row, 1024> rows_{};
};

// ---- One line ----

struct Line {
  Level level;
  std::string_view target;
  std::string_view message;
  std::span<const Field> fields;
  const Site* site;  // null: nobody knows
  TaskId task{};
  std::string_view task_name{};
  std::uint64_t suppressed = 0;
  const SharedFields* shared = nullptr;
  std::optional<SpanId> span{};
};

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
  // Most text has nothing to escape.
  void quoted(std::string_view text) {
    if (tiffany::detail::plain_bytes(text, 0) == text.size()) {
      raw('"');
      raw(text);
      raw('"');
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
    if (field.kind() == Field::Kind::text) {
      quoted(field.text());
    } else if (field.kind() == Field::Kind::integer) {
      number(field.integer());
    } else {
      std::string text;
      field.append_json(text);
      raw(text);
    }
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
std::size_t most_bytes(const Line& line) noexcept {
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
  if (line.site != nullptr) size += JsonOut::quoted_size(file_text(*line.site).size());
  return size;
}

void write_json(JsonOut& out, const Line& line, Stamp& stamp, std::int64_t now) {
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
    out.quoted(file_text(*line.site));
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

void append_json(std::string& to, const Line& line, Stamp& stamp, std::int64_t now) {
  constexpr std::size_t kMostLines = 4096;
  const std::size_t most = most_bytes(line);
  if (most <= kMostLines) {
    char memory[kMostLines];
    JsonOut out(memory);
    write_json(out, line, stamp, now);
    to += out.text();
  } else {
    const auto memory = std::make_unique_for_overwrite<char[]>(most);
    JsonOut out(memory.get());
    write_json(out, line, stamp, now);
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

// ---- The log of the process ----

class Process {
 public:
  // Never destroyed: destructors of other objects may write lines. Flushed at exit.
  static Process& get() {
    static Process& process = *new Process();
    return process;
  }

  // Of Logger::known_: the number of the settings, and the level.
  std::uint64_t look_up(std::string_view target) {
    const std::shared_lock lock(levels_mutex_);
    return generation_.load(std::memory_order_relaxed) << 8 |
           static_cast<std::uint64_t>(levels_.of(target));
  }
  std::uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  void set_levels(Levels levels) {
    const std::unique_lock lock(levels_mutex_);
    levels_ = std::move(levels);
    generation_.fetch_add(1, std::memory_order_release);
  }
  Levels levels() {
    const std::shared_lock lock(levels_mutex_);
    return levels_;
  }

  void configure(const Settings& settings) {
    auto writer =
        std::make_unique<tiffany::detail::LineWriter>(settings.descriptor, settings.buffer);
    const bool terminal = tiffany::detail::is_terminal(settings.descriptor);
    const std::lock_guard lock(mutex_);
    std::swap(writer_, writer);
    writer->flush();
    counted_.dropped += writer->dropped();
    counted_.failed += writer->failed();
    settings_ = settings;
    people_ =
        settings.format == Format::people || (settings.format == Format::by_descriptor && terminal);
    colours_ = people_ && terminal && std::getenv("NO_COLOR") == nullptr;
  }

  void put(Line line) {
    const std::int64_t now = now_us();
    const std::lock_guard lock(mutex_);
    if (settings_.most_per_second != 0 && line.site != nullptr) {
      const auto admitted = rates_.admit(*line.site, now, settings_.most_per_second);
      if (!admitted) {
        ++counted_.suppressed;
        return;
      }
      line.suppressed = *admitted;
    }
    tiffany::detail::LineWriter::Room room(*writer_);
    const std::size_t before = room.text().size();
    if (people_) {
      append_for_people(room.text(), line, stamp_, now, colours_);
    } else {
      append_json(room.text(), line, stamp_, now);
    }
    ++counted_.written;
    if (room.text().size() - before > settings_.longest) cut(room.text(), before, line, now);
  }

  void flush() {
    const std::lock_guard lock(mutex_);
    writer_->flush();
  }
  Counts counts() {
    const std::lock_guard lock(mutex_);
    Counts all = counted_;
    all.dropped += writer_->dropped();
    all.failed += writer_->failed();
    return all;
  }

 private:
  Process() {
    if (const char* wanted = std::getenv("TIFFANY_LOG"); wanted != nullptr) {
      try {
        levels_ = parse_levels(wanted);
      } catch (const Error&) {  // said by the first line that is written
        bad_levels_ = wanted;
      }
    }
    const Settings settings;
    writer_ = std::make_unique<tiffany::detail::LineWriter>(settings.descriptor, settings.buffer);
    configure(settings);
    std::atexit([] { get().flush(); });
    if (bad_levels_.empty()) return;
    const Field about("TIFFANY_LOG", bad_levels_);
    put(Line{Level::warn, "tiffany::log",
             "TIFFANY_LOG is not understood, and the level is info: it is to be "
             "\"info,target=debug\".",
             std::span(&about, 1), nullptr});
  }

  // A line is whole or it is not JSON: the long one is replaced by one without its fields.
  void cut(std::string& text, std::size_t before, const Line& line, std::int64_t now) {
    const std::size_t length = text.size() - before;
    text.resize(before);
    Line shorter = line;
    shorter.message = line.message.substr(0, settings_.longest / 8);
    const Field cut("cut_from_bytes", length);
    shorter.fields = std::span(&cut, 1);
    shorter.shared = nullptr;
    shorter.task_name = line.task_name.substr(0, settings_.longest / 8);
    if (people_) {
      append_for_people(text, shorter, stamp_, now, colours_);
    } else {
      append_json(text, shorter, stamp_, now);
    }
  }

  std::shared_mutex levels_mutex_;
  Levels levels_;
  std::atomic<std::uint64_t> generation_{1};

  std::mutex mutex_;
  Settings settings_;
  bool people_ = false;
  bool colours_ = false;
  std::unique_ptr<tiffany::detail::LineWriter> writer_;
  Stamp stamp_;
  Rates rates_;
  Counts counted_;
  std::string bad_levels_;
};

}  // namespace

std::string_view name_of(Level level) noexcept { return kNames[static_cast<std::size_t>(level)]; }

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

// ---- Loggers ----

Logger::Logger(std::string target) : target_(std::move(target)) {}

void Logger::look_up() const noexcept {
  known_.store(Process::get().look_up(target_), std::memory_order_relaxed);
}

bool Logger::enabled(Level level) const noexcept {
  std::uint64_t known = known_.load(std::memory_order_relaxed);
  if (known >> 8 != Process::get().generation()) {
    look_up();
    known = known_.load(std::memory_order_relaxed);
  }
  return static_cast<std::uint64_t>(level) <= (known & 0xff);
}

void Logger::write(Level level, std::string_view message, Fields fields, Site site) const {
  if (enabled(level)) put(level, message, fields, site);
}

void Logger::put(Level level, std::string_view message, Fields fields, const Site& site) const {
  Line line{level, target_, message, std::span(fields.begin(), fields.size()), &site};
  const Scheduler* scheduler = Scheduler::current();
  if (scheduler != nullptr && scheduler->running() != nullptr) {
    line.task = scheduler->running()->id();
    line.task_name = scheduler->running()->name();
    line.shared = lookup(kFields);
    line.span = Span::current();
  }
  Process::get().put(line);
}

const Logger& app() noexcept {
  static const Logger logger("app");
  return logger;
}

void configure(const Settings& settings) { Process::get().configure(settings); }
void set_levels(std::string_view levels) { Process::get().set_levels(parse_levels(levels)); }
std::string levels() {
  const Levels all = Process::get().levels();
  const auto lower = [](Level level) {
    std::string text(name_of(level));
    for (char& c : text) c = static_cast<char>(c - 'A' + 'a');
    return text;
  };
  std::string text = lower(all.all);
  for (const auto& [target, level] : all.targets) text += "," + target + "=" + lower(level);
  return text;
}
void flush() { Process::get().flush(); }
Counts counts() { return Process::get().counts(); }

std::function<void(const LogLine&)> sink() {
  return [](const LogLine& line) {
    static const Logger reports("tiffany::core");
    const Level level = line.unseen_error != nullptr ? Level::error : Level::info;
    if (!reports.enabled(level)) return;
    Line out{level, "tiffany::core", line.message, {}, nullptr};
    out.task = line.task;
    out.task_name = line.task_name;
    Process::get().put(out);
  };
}

}  // namespace tiffany::observe::log

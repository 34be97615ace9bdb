#include "tiffany/observe/log.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>

#include "observe/log_levels.hpp"
#include "observe/log_line.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/detail/world/line_writer.hpp"

namespace tiffany::observe::log {

namespace {

// In a world whose only time is virtual, the time of the scheduler, from 1970 on.
std::int64_t now_us() {
  if (const auto wall = World::current().wall_clock_us()) return *wall;
  const Scheduler* scheduler = Scheduler::current();
  return scheduler == nullptr ? 0
                              : std::chrono::duration_cast<std::chrono::microseconds>(
                                    scheduler->now().time_since_epoch())
                                    .count();
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
        std::make_shared<tiffany::detail::LineWriter>(settings.descriptor, settings.buffer, mutex_);
    const bool terminal = tiffany::detail::is_terminal(settings.descriptor);
    {
      const std::lock_guard lock(mutex_);
      std::swap(writer_, writer);
      settings_ = settings;
      people_ = settings.format == Format::people ||
                (settings.format == Format::by_descriptor && terminal);
      colours_ = people_ && terminal && std::getenv("NO_COLOR") == nullptr;
    }
    // Nobody else waits while the lines before are written.
    writer->flush();
    const std::uint64_t dropped = writer->dropped();
    const std::uint64_t failed = writer->failed();
    const std::lock_guard lock(mutex_);
    counted_.dropped += dropped;
    counted_.failed += failed;
  }

  void put(Line& line) {
    const std::int64_t now = now_us();
    std::unique_lock lock(mutex_);
    if (settings_.most_per_second != 0 && line.site != nullptr) {
      const auto admitted = rates_.admit(*line.site, now, settings_.most_per_second);
      if (!admitted) {
        ++counted_.suppressed;
        return;
      }
      line.suppressed = *admitted;
    }
    tiffany::detail::LineWriter::Room room(*writer_, std::move(lock));
    const std::size_t before = room.text().size();
    if (people_) {
      append_for_people(room.text(), line, stamp_, now, colours_);
    } else {
      append_json(room.text(), line, stamp_, now);
    }
    ++counted_.lines;
    if (room.text().size() - before > settings_.longest) cut(room.text(), before, line, now);
  }

  void flush() { writer()->flush(); }
  // At the end of the program, which must end though nobody reads.
  void flush_at_exit() { writer()->flush_for(std::chrono::seconds(2)); }
  Counts counts() {
    const auto now = writer();
    const std::uint64_t dropped = now->dropped();
    const std::uint64_t failed = now->failed();
    const std::lock_guard lock(mutex_);
    Counts all = counted_;
    all.dropped += dropped;
    all.failed += failed;
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
    writer_ =
        std::make_shared<tiffany::detail::LineWriter>(settings.descriptor, settings.buffer, mutex_);
    configure(settings);
    std::atexit([] { get().flush_at_exit(); });
    if (bad_levels_.empty()) return;
    const Field about("TIFFANY_LOG", bad_levels_);
    Line line{Level::warn, "tiffany::log",
              "TIFFANY_LOG is not understood, and the level is info: it is to be "
              "\"info,target=debug\".",
              std::span(&about, 1), nullptr};
    put(line);
  }

  std::shared_ptr<tiffany::detail::LineWriter> writer() {
    const std::lock_guard lock(mutex_);
    return writer_;
  }

  // A line is whole or it is not JSON: the long one is replaced by one without its fields.
  void cut(std::string& text, std::size_t before, const Line& line, std::int64_t now) {
    const std::size_t length = text.size() - before;
    text.resize(before);
    Line shorter = line;
    const std::size_t most = settings_.longest / 32;  // a byte takes six at most when it is escaped
    shorter.message = line.message.substr(0, most);
    shorter.target = line.target.substr(0, most);
    const Field cut("cut_from_bytes", length);
    shorter.fields = std::span(&cut, 1);
    shorter.shared = nullptr;
    shorter.task_name = line.task_name.substr(0, most);
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
  std::shared_ptr<tiffany::detail::LineWriter> writer_;
  Stamp stamp_;
  Rates rates_;
  Counts counted_;
  std::string bad_levels_;
};

}  // namespace

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
std::string levels() { return text_of(Process::get().levels()); }
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

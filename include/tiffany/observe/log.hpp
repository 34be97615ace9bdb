// The structured log: a line for each thing worth knowing, with fields that machines can read.
//
//   namespace log = tiffany::observe::log;
//   log::info("order shipped", {{"order", id}, {"weight", 2.5}});
//   const log::Logger shop("shop");                  // a target with a level of its own
//   shop.warn("carrier is slow", {{"carrier", "post"}});
//
// One JSON object a line, with the fields of the line, of the task that wrote it and of the place:
//
//   {"timestamp":"2026-11-17T09:30:00.000250Z","level":"INFO","target":"app","message":"order
//   shipped","fields":{"order":7,"weight":2.5,"tid":3,"task":"ship","loc":"shop.cpp:40"}}
//
// On a terminal the same is a line for people. What a line says of task and place comes by itself;
// fields that a whole task shares are inherited: co_await with(log::kFields, ...).
//
// Levels: error, warn, info, debug, trace. What is written is decided by the target and its level:
// `log::set_levels("info,shop=debug")`, or TIFFANY_LOG in the environment when the program starts;
// without either, info. A line that is not written costs a load and a comparison, and its fields
// are not looked at.
//
// Lines are put into a bounded buffer and written by a thread: nobody waits for a disk. What finds
// no room is dropped and counted, and so is what one place in the code writes beyond
// Settings::most_per_second: the next line of that place says how many in "suppressed".
//
// Thread safety: everything here may be called from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tiffany/base/time.hpp"
#include "tiffany/base/uuid.hpp"
#include "tiffany/core/context.hpp"

namespace tiffany {
struct LogLine;
}

namespace tiffany::observe::log {

enum class Level : std::uint8_t { error, warn, info, debug, trace };
// ERROR, WARN, INFO, DEBUG, TRACE.
std::string_view name_of(Level level) noexcept;

// A name and what is known under it, for as long as the statement that it is written in.
class Field {
 public:
  enum class Kind : std::uint8_t { integer, natural, number, truth, text, uuid };

  template <class V>
  Field(std::string_view key, const V& value) noexcept : key_(key) {
    if constexpr (std::is_same_v<V, bool>) {
      kind_ = Kind::truth;
      value_.truth = value;
    } else if constexpr (std::is_same_v<V, Uuid>) {
      kind_ = Kind::uuid;
      value_.uuid = &value;
    } else if constexpr (std::is_same_v<V, Duration>) {
      kind_ = Kind::number;  // in seconds
      value_.number = static_cast<double>(value.count()) / 1e9;
    } else if constexpr (std::is_floating_point_v<V>) {
      kind_ = Kind::number;
      value_.number = static_cast<double>(value);
    } else if constexpr (std::is_integral_v<V> && std::is_signed_v<V>) {
      kind_ = Kind::integer;
      value_.integer = value;
    } else if constexpr (std::is_integral_v<V>) {
      kind_ = Kind::natural;
      value_.natural = value;
    } else {
      static_assert(std::is_convertible_v<const V&, std::string_view>,
                    "a field of a log line is a number, a bool, a text, a Uuid or a Duration");
      kind_ = Kind::text;
      const std::string_view text(value);
      value_.text = {text.data(), text.size()};
    }
  }

  std::string_view key() const noexcept { return key_; }
  Kind kind() const noexcept { return kind_; }
  // Each only of its kind.
  std::int64_t integer() const noexcept { return value_.integer; }
  std::uint64_t natural() const noexcept { return value_.natural; }
  double number() const noexcept { return value_.number; }
  bool truth() const noexcept { return value_.truth; }
  std::string_view text() const noexcept { return {value_.text.data, value_.text.size}; }
  void append_json(std::string& out) const;
  // As it is; a text with the characters that a terminal would obey made harmless.
  void append_plain(std::string& out) const;

 private:
  std::string_view key_;
  Kind kind_;
  union {
    std::int64_t integer;
    std::uint64_t natural;
    double number;
    bool truth;
    const Uuid* uuid;
    struct {
      const char* data;
      std::size_t size;
    } text;
  } value_;
};
using Fields = std::initializer_list<Field>;

// Fields of every line that a task and those spawned by it write: names and texts.
using SharedFields = std::vector<std::pair<std::string, std::string>>;
inline constexpr ContextKey<SharedFields> kFields{"log fields"};

using Site = std::source_location;

// A target: who writes. Its level is that of the longest target in the settings that it is, or that
// it begins with before "::".
class Logger {
 public:
  explicit Logger(std::string target);

  bool enabled(Level level) const noexcept;
  void write(Level level, std::string_view message, Fields fields = {},
             Site site = Site::current()) const;

  void error(std::string_view message, Fields fields = {}, Site site = Site::current()) const {
    if (enabled(Level::error)) put(Level::error, message, fields, site);
  }
  void warn(std::string_view message, Fields fields = {}, Site site = Site::current()) const {
    if (enabled(Level::warn)) put(Level::warn, message, fields, site);
  }
  void info(std::string_view message, Fields fields = {}, Site site = Site::current()) const {
    if (enabled(Level::info)) put(Level::info, message, fields, site);
  }
  void debug(std::string_view message, Fields fields = {}, Site site = Site::current()) const {
    if (enabled(Level::debug)) put(Level::debug, message, fields, site);
  }
  void trace(std::string_view message, Fields fields = {}, Site site = Site::current()) const {
    if (enabled(Level::trace)) put(Level::trace, message, fields, site);
  }

 private:
  void put(Level level, std::string_view message, Fields fields, const Site& site) const;
  void look_up() const noexcept;

  std::string target_;
  // The level, and which settings it is from.
  mutable std::atomic<std::uint64_t> known_{0};
};

// The target "app".
const Logger& app() noexcept;
inline void error(std::string_view message, Fields fields = {}, Site site = Site::current()) {
  app().error(message, fields, site);
}
inline void warn(std::string_view message, Fields fields = {}, Site site = Site::current()) {
  app().warn(message, fields, site);
}
inline void info(std::string_view message, Fields fields = {}, Site site = Site::current()) {
  app().info(message, fields, site);
}
inline void debug(std::string_view message, Fields fields = {}, Site site = Site::current()) {
  app().debug(message, fields, site);
}
inline void trace(std::string_view message, Fields fields = {}, Site site = Site::current()) {
  app().trace(message, fields, site);
}

// ---- Settings of the process ----

enum class Format : std::uint8_t {
  by_descriptor,  // for people on a terminal, JSON elsewhere
  json,
  people,
};

class Settings {
 public:
  Settings() = default;
  int descriptor = 2;  // stays the caller's; open until others are set
  Format format = Format::by_descriptor;
  std::size_t buffer = std::size_t{4} << 20;  // bytes that wait for the thread; twice that in all
  std::uint32_t most_per_second = 1000;       // lines of one place in the code; 0: as many as come
  std::size_t longest = std::size_t{64} << 10;  // bytes of a line; what is longer is cut
};
// Waits until the lines before are written.
void configure(const Settings& settings);
// "info,shop=debug,shop::mail=trace": the first without a target is for all others. Throws
// Errc::bad_argument, and changes nothing, for what is none of these.
void set_levels(std::string_view levels);
std::string levels();

// Returns when all lines so far are written, or are known to be lost.
void flush();

struct Counts {
  std::uint64_t lines = 0;       // that were to be written
  std::uint64_t dropped = 0;     // no room
  std::uint64_t suppressed = 0;  // beyond most_per_second
  std::uint64_t failed = 0;      // writes that the system refused
};
Counts counts();

// Where a scheduler writes its reports and what tasks write with tiffany::log():
// Options().log_to(observe::log::sink()). The target is tiffany::core.
std::function<void(const LogLine&)> sink();

}  // namespace tiffany::observe::log

// What the daemon is told: from its command line, the environment, a file, or a default, in this
// order. One table has all of it; `tiffany config` prints the table. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "tiffany/base/time.hpp"

namespace tiffany::app {

struct Setting {
  std::string_view name;      // in the file; `--name` on the command line, with - for _
  std::string_view fallback;  // what it is when nobody says anything
  std::string_view meaning;
  std::string variable() const;  // TIFFANY_NAME
  std::string flag() const;      // --name
};
std::span<const Setting> all_settings() noexcept;

class Settings {
 public:
  // `given`: of the command line, by name. Reads the environment, and the file that "config" names.
  // Throws Errc::bad_argument with file, line and what to do for what is not understood.
  static Settings read(std::map<std::string, std::string, std::less<>> given);

  // From the same command line, the environment and the file as they are now.
  Settings read_again() const { return read(given_); }

  const std::string& text(std::string_view name) const;
  // "30s", "5m", "100ms", "2h", "1d"; plain numbers are seconds.
  Duration duration(std::string_view name) const;
  std::uint64_t number(std::string_view name) const;
  bool truth(std::string_view name) const;
  // Where a value is from: "flag", "environment", "file", "default".
  const std::string& source(std::string_view name) const;

  std::string table() const;  // for people
  std::string json() const;

 private:
  struct Value {
    std::string text;
    std::string source;
  };
  void take_environment();
  void take_file(const std::string& path, bool must_be_there);
  void check() const;
  std::map<std::string, std::string, std::less<>> given_;
  std::map<std::string, Value, std::less<>> values_;
};

// A duration as people write it. Throws Errc::bad_argument; `what` names it in the sentence.
Duration parse_duration(std::string_view text, std::string_view what);

// The socket of a daemon, when nobody names one.
std::string default_socket();

}  // namespace tiffany::app

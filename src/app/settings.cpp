#include "app/settings.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <optional>
#include <utility>

#include "app/small_files.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany::app {
namespace {

constexpr std::array kSettings{
    Setting{"config", "", "a file with `name = value` lines; without it, <data>/tiffany.conf"},
    Setting{"data", "", "directory of the log and everything else that is kept"},
    Setting{"socket", "", "path of the unix socket of the API"},
    Setting{"listen", "", "address of the API on TCP, such as 127.0.0.1:7070; empty: none"},
    Setting{"hosts", "", "further names that clients may call this daemon by, with commas"},
    Setting{"tls_certificate", "", "file with the certificate chain (PEM) for `listen`"},
    Setting{"tls_key", "", "file with its private key (PEM)"},
    Setting{"tls_clients", "", "file with the authorities (PEM) whose clients may connect"},
    Setting{"log", "info", "levels of the log of the program, such as info,serve=debug"},
    Setting{"drain", "10s", "how long steps and answers that are under way may take at the end"},
    Setting{"hot_tasks", "100000", "tasks that keep their code in memory while they wait"},
    Setting{"archive_days", "30", "how long tasks that have ended are kept; 0: for ever"},
    Setting{"archive_bytes", "10737418240", "and how much of them; 0: everything"},
    Setting{"connections", "10000", "connections of the API at a time"},
    Setting{"body_bytes", "8388608", "the longest body of a request"},
    Setting{"runner", "", "path of tiffany-run; without it, beside this program or in /usr/lib"},
    Setting{"web_root", "", "directory of the dashboard's files; empty: those in the program"},
    Setting{"plans", "", "directory with plans that can be run by their names"},
    Setting{"mcp_approve", "no", "whether clients of /mcp may answer for a person: yes or no"},
    Setting{"agents", "", "file with models, tools, policy and budget of agents (JSON)"},
};

const Setting* find_setting(std::string_view name) noexcept {
  const auto found = std::ranges::find(kSettings, name, &Setting::name);
  return found == kSettings.end() ? nullptr : &*found;
}

std::string_view trimmed(std::string_view text) noexcept {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

[[noreturn]] void refuse_setting(const std::string& sentence) {
  throw Error(Errc::bad_argument, sentence);
}

const char* variable_of(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string default_data() {
  if (const char* const state = variable_of("XDG_STATE_HOME"))
    return std::string(state) + "/tiffany";
  if (const char* const home = variable_of("HOME"))
    return std::string(home) + "/.local/state/tiffany";
  return "tiffany-data";
}

}  // namespace

std::string default_socket() {
  if (const char* const named = variable_of("TIFFANY_SOCKET")) return named;
  if (const char* const run = variable_of("XDG_RUNTIME_DIR"))
    return std::string(run) + "/tiffany.sock";
  return default_data() + "/tiffany.sock";
}

std::string Setting::variable() const {
  std::string text = "TIFFANY_";
  for (const char c : name) text += c == '_' ? '_' : static_cast<char>(c - 'a' + 'A');
  return text;
}
std::string Setting::flag() const {
  std::string text = "--" + std::string(name);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::span<const Setting> all_settings() noexcept { return kSettings; }

Duration parse_duration(std::string_view text, std::string_view what) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  std::uint64_t scale = 0;
  if (unit == "ms") scale = 1'000'000;
  if (unit.empty() || unit == "s") scale = 1'000'000'000;
  if (unit == "m" || unit == "min") scale = std::uint64_t{60} * 1'000'000'000;
  if (unit == "h") scale = std::uint64_t{3600} * 1'000'000'000;
  if (unit == "d") scale = std::uint64_t{86400} * 1'000'000'000;
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (error != std::errc() || scale == 0 || count > most / scale) {
    refuse_setting(std::string(what) + " is \"" + std::string(text) +
                   "\", which is no duration: say 500ms, 30s, 5m, 2h or 7d.");
  }
  return Duration(static_cast<std::int64_t>(count * scale));
}

Settings Settings::read(std::map<std::string, std::string, std::less<>> given) {
  Settings settings;
  settings.given_ = given;
  for (const Setting& each : kSettings) {
    settings.values_[std::string(each.name)] = {std::string(each.fallback), "default"};
  }
  settings.values_["data"].text = default_data();
  settings.take_environment();
  for (const auto& [name, value] : given) {
    if (find_setting(name) == nullptr) refuse_setting("There is no setting \"" + name + "\".");
    settings.values_[name] = {value, "flag"};
  }
  const std::string named = settings.text("config");
  settings.take_file(named.empty() ? settings.text("data") + "/tiffany.conf" : named,
                     !named.empty());
  if (settings.text("socket").empty()) {
    // Beside the data when that was named, so that several daemons do not meet.
    const bool own = settings.source("data") != "default";
    settings.values_["socket"].text =
        own ? settings.text("data") + "/tiffany.sock" : default_socket();
  }
  settings.check();
  return settings;
}

void Settings::take_environment() {
  for (const Setting& each : kSettings) {
    if (const char* const value = variable_of(each.variable().c_str())) {
      values_[std::string(each.name)] = {value, "environment"};
    }
  }
}

void Settings::take_file(const std::string& path, bool must_be_there) {
  const std::optional<std::string> content = read_small_file(path);
  if (!content) {
    if (!must_be_there) return;
    refuse_setting("There are no settings in " + path + ": is its name right?");
  }
  std::string_view rest = *content;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::string where = path + ":" + std::to_string(number) + ": ";
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) refuse_setting(where + "write `name = value`.");
    const std::string name(trimmed(line.substr(0, equals)));
    std::string_view value = trimmed(line.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    if (find_setting(name) == nullptr || name == "config") {
      refuse_setting(where + "there is no setting \"" + name + "\"; `tiffany config` has all.");
    }
    Value& known = values_[name];
    if (known.source == "default") known = {std::string(value), "file"};
  }
}

void Settings::check() const {
  (void)duration("drain");
  for (const char* name :
       {"hot_tasks", "archive_days", "archive_bytes", "connections", "body_bytes"}) {
    (void)number(name);
  }
  (void)truth("mcp_approve");
  if (text("tls_certificate").empty() != text("tls_key").empty()) {
    refuse_setting("TLS needs both tls_certificate and tls_key.");
  }
}

const std::string& Settings::text(std::string_view name) const {
  return values_.find(name)->second.text;
}
const std::string& Settings::source(std::string_view name) const {
  return values_.find(name)->second.source;
}
Duration Settings::duration(std::string_view name) const {
  return parse_duration(text(name), "the setting " + std::string(name));
}
std::uint64_t Settings::number(std::string_view name) const {
  const std::string& digits = text(name);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    refuse_setting("the setting " + std::string(name) + " is \"" + digits +
                   "\", which is no whole number.");
  }
  return value;
}
bool Settings::truth(std::string_view name) const {
  const std::string& word = text(name);
  if (word == "yes" || word == "true" || word == "1") return true;
  if (word == "no" || word == "false" || word == "0" || word.empty()) return false;
  refuse_setting("the setting " + std::string(name) + " is \"" + word + "\": say yes or no.");
}

std::string Settings::table() const {
  std::string out;
  for (const Setting& each : kSettings) {
    const Value& value = values_.find(each.name)->second;
    out += "# " + std::string(each.meaning) + "\n# " + each.flag() + ", " + each.variable() +
           "; now from: " + value.source + "\n" + std::string(each.name) + " = " + value.text +
           "\n\n";
  }
  return out;
}

std::string Settings::json() const {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  for (const Setting& each : kSettings) {
    const Value& value = values_.find(each.name)->second;
    json.begin_object();
    json.member("name", each.name);
    json.member("value", value.text);
    json.member("source", value.source);
    json.member("flag", each.flag());
    json.member("variable", each.variable());
    json.member("meaning", each.meaning);
    json.end_object();
  }
  json.end_array();
  return out;
}

}  // namespace tiffany::app

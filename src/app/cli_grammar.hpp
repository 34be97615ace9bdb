// The commands of an App: one table, from which the parser, `help`, the man page, the completion of
// shells and docs/23-command-line.md are made. Internal.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/engine/task.hpp"

namespace tiffany::app {

class Cli;

// What a shell offers in the place of a word.
enum class Fill : std::uint8_t { nothing, task, promise, schedule, type, token, file, verb };
enum class Count : std::uint8_t { one, maybe, any, some };  // 1, 0..1, 0.., 1..

struct CliWord {
  std::string name;  // TASK
  std::string meaning;
  Fill fill = Fill::nothing;
  Count count = Count::one;
};
struct CliOption {
  std::string flags;  // "-f,--filter"
  std::string value;  // what the value is called; empty: a flag without one
  std::string meaning;
  std::vector<std::string> choices{};  // all that it may be; empty: anything
  // --filter: by which it is asked for.
  std::string name() const { return flags.substr(flags.find("--")); }
};
struct Verb {
  std::string path;   // "schedule create"
  std::string group;  // the heading that it is shown below
  std::string summary;
  std::vector<CliWord> words;
  std::vector<CliOption> options;
  Task<int> (*run)(Cli&) = nullptr;  // none: it works without a daemon and is known by its name
  bool hidden = false;
};

std::span<const Verb> verbs();
void add_daemon_verbs(std::vector<Verb>& all);
std::span<const CliOption> global_options();

// What stands on a command line.
class Given {
 public:
  const Verb* verb = nullptr;
  std::string help_of;  // help was asked for, of this verb or group; "" with `help`: of all
  bool help = false;
  std::map<std::string, std::vector<std::string>, std::less<>> values;

  bool has(std::string_view name) const { return values.find(name) != values.end(); }
  // The last one that was given; `fallback` when none was.
  std::string text(std::string_view name, std::string_view fallback = "") const;
  const std::vector<std::string>& all(std::string_view name) const;
};

// By CLI11. Throws Refused (app/commands.hpp) for what is not understood.
Given parse_words(const std::string& program, int count, char** words);

// Of `__complete -- words...`, whose words are those of another command line.
Given given_of_completion(int count, char** words);

// Texts about the table.
// In lines of that many columns; 0: as long as they are.
std::string help_text(const std::string& program, const std::string& of, std::size_t columns);
std::string synopsis_of(const Verb& verb);
std::string man_page(const std::string& program, const std::string& version);
std::string reference_page(const std::string& program);  // docs/23-command-line.md, the table part
std::string completion_script(const std::string& program, const std::string& shell);

}  // namespace tiffany::app

// What all commands use: the words after the program's name, output, and the log that they name.
// Internal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/uuid.hpp"
#include "tiffany/durable/host.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/wal/log_options.hpp"

namespace tiffany::app {

// A command that was not understood, and why: the program ends with 2.
struct Refused {
  std::string why;
  std::string of{};  // the command that `help` says more about
};

// The words of a command, taken one after the other. A word that is missing or is not what it
// should be throws Refused.
class Words {
 public:
  Words(int count, char** arguments) : words_(arguments + 1, arguments + count) {}
  // Options are found anywhere and taken out; to be asked for before the words.
  bool option(std::string_view name);
  std::string option_value(std::string_view name);  // empty: it is not there
  // A whole number; none when the option is not there.
  std::optional<std::uint64_t> option_number(const std::string& name);
  bool more() const noexcept { return next_ < words_.size(); }
  std::string take(std::string_view what);
  Uuid take_id(std::string_view what);
  std::size_t take_number_or(std::size_t otherwise, std::string_view what);  // digits alone
  void end() const;

 private:
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

// Lines to standard output, always made harmless: that may be a terminal, or be shown in one later.
// Text of users is given to shown() before, which takes its line breaks, too.
void print(std::string_view lines);

// What durable_main was given.
std::shared_ptr<const wal::PayloadCodec>& codec_of_logs() noexcept;
// The log in a directory, to be written to little. Throws an Error when there is none.
wal::LogOptions log_at(const std::string& directory);
// For a change of a log that no process has open: nothing is run.
HostOptions records_only();

Task<int> wal_command(Words words);
Task<int> restore_command(Words words);
Task<int> task_command(const Registry* types, Words words);

}  // namespace tiffany::app

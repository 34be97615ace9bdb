// The commands that a log says were made, compared with those that the code makes. Knows no host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/uuid.hpp"

namespace tiffany::detail {

struct Failure;

struct Command {
  std::string kind;
  std::string id;
  std::string hash;
  std::string place;
  std::uint64_t seq = 0;
  std::int64_t due = 0;   // of a timer; of a step: see StepSlot
  std::int64_t time = 0;  // of its first record
  std::string shape;      // of what is waited for; empty when the log does not say
  Uuid uuid;              // of a promise or a child
  int value = 0;          // of a version
  bool used = false;      // the code has made it again
  bool begun = false;     // a StepStart
  bool lost = false;      // its last attempt has begun, and nothing says why it did not end
  int attempts = 0;
  std::string details;                       // of a heartbeat; the sentence of a failed answer
  std::shared_ptr<const Failure> failure{};  // of a failed answer
  // For sentences: step "charge#1" (record 3, from order.cpp:31).
  std::string text() const;
};

// A cursor over the commands of the log. The next command of the code is the next of the log. Code
// that is newer than the log may make the commands of the log in another order; a command that the
// log does not have comes after all of them. So whether code and log agree is known before anything
// new is done.
class Replay {
 public:
  // `lenient`: the code is newer than the log.
  void load(std::vector<Command> commands, bool lenient);
  // The code and the log agree, and the log has no more.
  void clear() noexcept;
  bool empty() const noexcept { return recorded_ == nullptr; }
  bool lenient() const noexcept { return lenient_; }

  struct Match {
    Command* recorded = nullptr;  // null: the log does not have it
    bool older = false;           // of a version: the log was written before that change
    std::string difference;       // a sentence, when code and log do not agree
  };
  Match match(std::string_view kind, const std::string& id, const std::string& hash,
              std::string_view shape, const std::source_location& site);
  // The first command of the log that the code has not made. Null: none.
  Command* next() noexcept;
  // The first that the code must still make: newer code need not ask for versions any more.
  const Command* left_over() noexcept;
  // How many commands of the code were in the log.
  std::size_t compared() const noexcept { return compared_; }

 private:
  Command* find(std::string_view kind, const std::string& id) noexcept;
  struct Recorded {
    std::vector<Command> commands;
    std::size_t next = 0;  // all before it are used
  };
  std::unique_ptr<Recorded> recorded_;  // null: there is no command
  std::uint32_t compared_ = 0;
  bool lenient_ = false;
};

}  // namespace tiffany::detail

// What the code of a durable task is given, and what it was seen to do. All of it begins anew at a
// checkpoint but the arguments and the time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tiffany/base/random.hpp"
#include "tiffany/durable/flow.hpp"

namespace tiffany::detail {

// Names of commands. The same name again gets the next number: "pay/charge#2".
class CommandNames {
 public:
  std::string path;  // "pay/", of the Flow::Paths that are open

  // `kind` is put before the name. Throws Errc::bad_argument for what cannot be a name.
  std::string next(std::string_view name, std::string_view kind = {});
  void clear() noexcept;

 private:
  struct Use {
    std::string name;
    std::uint32_t count = 0;
  };
  Use& use_of(std::string_view name);

  std::vector<Use> few_;  // looked through one by one: most tasks use a handful of names
  std::unique_ptr<std::unordered_map<std::string, Use>> many_;  // all of them, when there are more
  Use* last_ = nullptr;                                         // often the next one, too
};

// What a task answers to Host::query.
class Queries {
 public:
  std::uint64_t add(std::string name, std::function<std::string()> answer);
  void remove(std::uint64_t number) noexcept;
  // Null when nobody answers that.
  const std::function<std::string()>* find(std::string_view name) const noexcept;
  bool had(std::string_view name) const noexcept;
  void clear() noexcept { all_.clear(); }

 private:
  struct Answer {
    std::string name;
    std::uint64_t number;
    std::function<std::string()> answer;
  };
  std::vector<Answer> all_;         // the youngest of a name answers
  std::vector<std::string> names_;  // of all that were ever answered
  std::uint64_t last_ = 0;
};

// What is counted and drawn between two checkpoints. It is the same when the log is read from
// there, and other than before the checkpoint.
class Generation {
 public:
  explicit Generation(std::uint64_t seed_of_task) noexcept;
  // A fork draws what the task of its history drew.
  void take_seed(std::uint64_t seed_of_other) noexcept;
  // Behind that checkpoint. `counted`: it is a number of the checkpoint and not of its record, of
  // which there are more after a crash.
  void begin(std::uint64_t checkpoint, bool counted);
  // Behind a retry, with that record.
  void begin_retry(std::uint64_t record);
  // Which checkpoint was the last; zero: none.
  std::uint64_t checkpoint() const noexcept { return checkpoint_; }
  // A part of the names of children, which come again.
  const std::string& text() const noexcept { return text_; }

  Random random;

 private:
  std::uint64_t seed_;
  std::uint64_t checkpoint_ = 0;
  std::string text_ = "0";
};

class CodeState {
 public:
  explicit CodeState(FlowState& state) noexcept : flow(state) {}
  void begin_anew();
  Queries& queries();

  Flow flow;
  std::string arguments = "[]";
  std::optional<std::string> saved;  // the state of the last checkpoint
  std::string next_state;            // of the checkpoint that is being made
  std::shared_ptr<Queries> answers;  // null: none was ever given
  CommandNames names;
  std::int64_t now = 0;
  std::uint64_t trace = 0;  // over what was asked for, and what came
  void* caller = nullptr;   // the frame that called the code
  bool asked_anything = false;
  bool at_checkpoint = false;  // the code has ended at one, which is on the disk
};

}  // namespace tiffany::detail

// What the code of a durable task is given, and what it was seen to do. All of it begins anew at a
// checkpoint but the arguments and the time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "durable/rare.hpp"
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
  std::string text() const { return (counted_ ? "c" : "") + std::to_string(number_); }
  // Numbers of the task; made when the first is drawn.
  Random& random();

 private:
  std::uint64_t seed_;
  std::uint64_t checkpoint_ = 0;
  std::uint64_t number_ = 0;  // of the checkpoint, or of the record of a retry
  bool counted_ = false;
  Rare<Random> random_;
};

// A UUID as text, without memory of its own.
class IdText {
 public:
  explicit IdText(const Uuid& id) {
    const std::string text = id.text();
    std::copy(text.begin(), text.end(), text_.begin());
  }
  // NOLINTNEXTLINE(google-explicit-constructor): it is a text
  operator std::string_view() const noexcept { return {text_.data(), text_.size()}; }
  friend std::string operator+(std::string before, const IdText& id) {
    return std::move(before.append(std::string_view(id)));
  }

 private:
  std::array<char, 36> text_;
};

class CodeState {
 public:
  explicit CodeState(FlowState& state) noexcept : flow(state) {}
  void begin_anew();
  Queries& queries();

  Flow flow;
  std::string arguments = "[]";
  Rare<std::string> saved;           // the state of the last checkpoint
  Rare<std::string> next_state;      // of the checkpoint that is being made
  std::shared_ptr<Queries> answers;  // null: none was ever given
  CommandNames names;
  std::int64_t now = 0;
  std::uint64_t trace = 0;  // over what was asked for, and what came
  void* caller = nullptr;   // the frame that called the code
  bool asked_anything = false;
  bool at_checkpoint = false;  // the code has ended at one, which is on the disk
};

}  // namespace tiffany::detail

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
#include "tiffany/base/rare_text.hpp"
#include "tiffany/durable/flow.hpp"
#include "tiffany/durable/host_options.hpp"

namespace tiffany::detail {

// Names of commands. The same name again gets the next number: "pay/charge#2". Most tasks use a
// handful of names: these are in one small block, and looked through one by one.
class CommandNames {
 public:
  // "pay/", of the Flow::Paths that are open.
  const std::string& path() const noexcept { return path_.string(); }
  void enter(std::string_view part);
  void leave_to(std::size_t size) noexcept;

  // `kind` is put before the name. Throws Errc::bad_argument for what cannot be a name.
  std::string next(std::string_view name, std::string_view kind = {});
  void clear() noexcept;

 private:
  std::uint32_t count_next(std::string_view id);
  bool find_few(std::string_view id, std::uint32_t& count) noexcept;
  bool add_few(std::string_view id);
  void move_to_many();

  RareText path_;
  // Of each name its count (4 bytes), its length (2 bytes) and its characters.
  std::unique_ptr<char[]> few_;
  std::uint16_t few_size_ = 0;
  std::uint16_t few_room_ = 0;
  std::uint16_t last_ = 0;  // where in `few_` the name of the last call is: often the next one, too
  using Counts = std::unordered_map<std::string, std::uint32_t>;
  std::unique_ptr<Counts> many_;  // all of them, when there are more
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
  std::uint64_t checkpoint() const noexcept { return more_ != nullptr ? more_->checkpoint : 0; }
  // The record of the last retry behind the checkpoint; zero: none.
  std::uint64_t retry() const noexcept { return more_ != nullptr ? more_->retry : 0; }
  // A part of the names of children, which come again.
  std::string text() const;
  // Numbers of the task; made when the first is drawn.
  Random& random();

 private:
  struct More {
    std::uint64_t checkpoint = 0;
    std::uint64_t number = 0;  // of the checkpoint, or of the record of a retry
    std::uint64_t retry = 0;
    bool counted = false;
    std::optional<Random> random;
  };
  More& more();

  std::uint64_t seed_;
  std::unique_ptr<More> more_;  // null: no checkpoint, no retry, and nothing was drawn
};

// Whose records a fork has copied: those before record `to`, behind those of the one before.
struct PastTask {
  Uuid id;
  std::uint64_t to = 0;
};
TIFFANY_JSON(PastTask, id, to);

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

// How the code has ended.
struct CodeEnd {
  DurableStatus status = DurableStatus::completed;
  bool stopped = false;  // from outside, and it had steps behind it
  std::string result;
};

class CodeState {
 public:
  explicit CodeState(FlowState& state) noexcept : flow(state) {}
  void begin_anew();
  const std::shared_ptr<Queries>& queries();

  Flow flow;
  std::string arguments = "[]";
  // What most tasks never have, or have at their end only.
  struct Seldom {
    Rare<std::string> saved;           // the state of the last checkpoint
    Rare<std::string> next_state;      // of the checkpoint that is being made
    std::shared_ptr<Queries> answers;  // null: none was ever given
    std::unique_ptr<CodeEnd> end;      // null: it has not
    std::vector<PastTask> past{};      // of a fork; the oldest first
  };
  Seldom& seldom() {
    if (seldom_ == nullptr) seldom_ = std::make_unique<Seldom>();
    return *seldom_;
  }
  // Null, each, when there is none.
  const std::string* saved() const noexcept {
    return seldom_ != nullptr && seldom_->saved ? &*seldom_->saved : nullptr;
  }
  Queries* answers() const noexcept {
    return seldom_ != nullptr ? seldom_->answers.get() : nullptr;
  }
  // The task that has asked for the command of that record; nil: this one.
  Uuid writer_of(std::uint64_t record) const noexcept {
    if (seldom_ == nullptr) return Uuid();
    for (const PastTask& each : seldom_->past) {
      if (record < each.to) return each.id;
    }
    return Uuid();
  }
  std::unique_ptr<CodeEnd> take_end() noexcept {
    return seldom_ != nullptr ? std::move(seldom_->end) : nullptr;
  }
  CommandNames names;
  std::int64_t now = 0;
  std::uint64_t trace = 0;  // over what was asked for, and what came
  void* caller = nullptr;   // the frame that called the code
  bool asked_anything = false;
  bool at_checkpoint = false;  // the code has ended at one, which is on the disk

 private:
  std::unique_ptr<Seldom> seldom_;
};

}  // namespace tiffany::detail

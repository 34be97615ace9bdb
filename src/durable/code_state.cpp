#include "durable/code_state.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

#include "durable/limits.hpp"

namespace tiffany::detail {

// The number is part of the name, so that the same line in a loop makes different commands. A path
// keeps those of two functions apart.
std::string CommandNames::next(std::string_view name, std::string_view kind) {
  require_name(name, "The name of a step, timer, promise or child");
  std::string id = path;
  id += kind;
  id += name;
  if (last_ == nullptr || id != last_->name) last_ = &use_of(id);
  id += '#';
  char digits[10];
  id.append(digits, std::to_chars(digits, digits + sizeof digits, ++last_->count).ptr);
  return id;
}

// A table of hashes costs a waiting task 240 bytes for two names, a list 80.
CommandNames::Use& CommandNames::use_of(std::string_view name) {
  constexpr std::size_t kFew = 8;
  if (many_ == nullptr) {
    for (Use& each : few_) {
      if (each.name == name) return each;
    }
    if (few_.size() < kFew) return few_.emplace_back(Use{std::string(name)});
    many_ = std::make_unique<std::unordered_map<std::string, Use>>();
    for (Use& each : few_) many_->emplace(each.name, each);
    std::vector<Use>().swap(few_);
  }
  Use& use = (*many_)[std::string(name)];
  if (use.name.empty()) use.name = name;
  return use;
}

void CommandNames::clear() noexcept {
  few_.clear();
  many_.reset();
  last_ = nullptr;
  path.clear();
}

std::uint64_t Queries::add(std::string name, std::function<std::string()> answer) {
  if (!had(name)) names_.push_back(name);
  all_.push_back({std::move(name), ++last_, std::move(answer)});
  return last_;
}
void Queries::remove(std::uint64_t number) noexcept {
  std::erase_if(all_, [number](const Answer& each) { return each.number == number; });
}
const std::function<std::string()>* Queries::find(std::string_view name) const noexcept {
  const auto found = std::find_if(all_.rbegin(), all_.rend(),
                                  [name](const Answer& each) { return each.name == name; });
  return found == all_.rend() ? nullptr : &found->answer;
}
bool Queries::had(std::string_view name) const noexcept {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

Generation::Generation(std::uint64_t seed_of_task) noexcept : seed_(seed_of_task) {}

void Generation::take_seed(std::uint64_t seed_of_other) noexcept {
  seed_ = seed_of_other;
  random_.reset();
}

// Numbers that are drawn after a checkpoint cannot depend on how many were drawn before: the log of
// before is gone when the task comes back.
void Generation::begin(std::uint64_t checkpoint, bool counted) {
  checkpoint_ = checkpoint;
  number_ = checkpoint;
  counted_ = counted;
  random_.reset();
}

void Generation::begin_retry(std::uint64_t record) {
  number_ = record;
  counted_ = false;
}

Random& Generation::random() {
  if (!random_) {
    random_ = checkpoint_ == 0 ? Random(seed_, "durable task")
                               : Random(seed_, "durable task after " + std::to_string(checkpoint_));
  }
  return *random_;
}

// As FlowState::load leaves it behind a checkpoint: what came before has been delivered, what came
// after has not.
void CodeState::begin_anew() {
  at_checkpoint = false;
  saved = std::move(*next_state);
  next_state.reset();
  names.clear();
  trace = 0;
  asked_anything = false;
  if (answers != nullptr) answers->clear();
}

Queries& CodeState::queries() {
  if (answers == nullptr) answers = std::make_shared<Queries>();
  return *answers;
}

}  // namespace tiffany::detail

#include "durable/code_state.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>
#include <utility>

#include "durable/limits.hpp"

namespace tiffany::detail {

// The number is part of the name, so that the same line in a loop makes different commands. A path
// keeps those of two functions apart.
std::string CommandNames::next(std::string_view name, std::string_view kind) {
  require_name(name, "The name of a step, timer, promise or child");
  std::string id = path();
  id += kind;
  id += name;
  char digits[10];
  char* const end = std::to_chars(digits, digits + sizeof digits, count_next(id)).ptr;
  id += '#';
  id.append(digits, end);
  return id;
}

void CommandNames::enter(std::string_view part) {
  std::string longer = path();
  longer += part;
  longer += '/';
  path_ = std::move(longer);
}
void CommandNames::leave_to(std::size_t size) noexcept { path_.shorten(size); }

namespace {
constexpr std::size_t kNameHead = 6;    // the count and the length
constexpr std::size_t kFewNames = 256;  // bytes: a table of hashes costs 240 for two names
}  // namespace

std::uint32_t CommandNames::count_next(std::string_view id) {
  if (many_ != nullptr) return ++(*many_)[std::string(id)];
  std::uint32_t count = 0;
  if (find_few(id, count)) return count;
  if (add_few(id)) return 1;
  move_to_many();
  return ++(*many_)[std::string(id)];
}

// Counts it, when it is there.
bool CommandNames::find_few(std::string_view id, std::uint32_t& count) noexcept {
  const auto is_at = [&](std::size_t at) {
    std::uint16_t length = 0;
    std::memcpy(&length, few_.get() + at + 4, sizeof length);
    return id == std::string_view(few_.get() + at + kNameHead, length);
  };
  const auto length_at = [&](std::size_t at) {
    std::uint16_t length = 0;
    std::memcpy(&length, few_.get() + at + 4, sizeof length);
    return kNameHead + length;
  };
  std::size_t at = last_;
  if (few_size_ == 0) return false;
  if (!is_at(at)) {
    for (at = 0; at < few_size_ && !is_at(at);) at += length_at(at);
    if (at == few_size_) return false;
  }
  last_ = static_cast<std::uint16_t>(at);
  std::memcpy(&count, few_.get() + at, sizeof count);
  ++count;
  std::memcpy(few_.get() + at, &count, sizeof count);
  return true;
}

// False: there is no room.
bool CommandNames::add_few(std::string_view id) {
  const std::size_t size = few_size_ + kNameHead + id.size();
  if (size > kFewNames) return false;
  if (size > few_room_) {
    // One name in 24 bytes, two mostly in 40, and so on: as malloc gives them out.
    const std::size_t room = (size + 8 + 15) / 16 * 16 - 8;
    std::unique_ptr<char[]> more(new char[room]);
    if (few_size_ > 0) std::memcpy(more.get(), few_.get(), few_size_);
    few_ = std::move(more);
    few_room_ = static_cast<std::uint16_t>(room);
  }
  const std::uint32_t count = 1;
  const auto length = static_cast<std::uint16_t>(id.size());
  char* const to = few_.get() + few_size_;
  std::memcpy(to, &count, sizeof count);
  std::memcpy(to + 4, &length, sizeof length);
  std::memcpy(to + kNameHead, id.data(), id.size());
  last_ = few_size_;
  few_size_ = static_cast<std::uint16_t>(size);
  return true;
}

void CommandNames::move_to_many() {
  auto many = std::make_unique<Counts>();
  for (std::size_t at = 0; at < few_size_;) {
    std::uint32_t count = 0;
    std::uint16_t length = 0;
    std::memcpy(&count, few_.get() + at, sizeof count);
    std::memcpy(&length, few_.get() + at + 4, sizeof length);
    many->emplace(std::string(few_.get() + at + kNameHead, length), count);
    at += kNameHead + length;
  }
  many_ = std::move(many);
  few_.reset();
  few_size_ = few_room_ = last_ = 0;
}

void CommandNames::clear() noexcept {
  few_.reset();
  few_size_ = few_room_ = last_ = 0;
  many_.reset();
  path_.clear();
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

Generation::More& Generation::more() {
  if (more_ == nullptr) more_ = std::make_unique<More>();
  return *more_;
}

void Generation::take_seed(std::uint64_t seed_of_other) noexcept {
  seed_ = seed_of_other;
  if (more_ != nullptr) more_->random.reset();
}

// Numbers that are drawn after a checkpoint cannot depend on how many were drawn before: the log of
// before is gone when the task comes back.
void Generation::begin(std::uint64_t checkpoint, bool counted) {
  more().checkpoint = checkpoint;
  more().number = checkpoint;
  more().counted = counted;
  more().retry = 0;
  more().random.reset();
}

void Generation::begin_retry(std::uint64_t record) {
  more().number = record;
  more().retry = record;
  more().counted = false;
}

std::string Generation::text() const {
  if (more_ == nullptr) return "0";
  return (more_->counted ? "c" : "") + std::to_string(more_->number);
}

Random& Generation::random() {
  const std::uint64_t checkpoint = more().checkpoint;
  if (!more_->random) {
    more_->random = checkpoint == 0
                        ? Random(seed_, "durable task")
                        : Random(seed_, "durable task after " + std::to_string(checkpoint));
  }
  return *more_->random;
}

// As FlowState::load leaves it behind a checkpoint: what came before has been delivered, what came
// after has not.
void CodeState::begin_anew() {
  at_checkpoint = false;
  seldom().saved = std::move(*seldom().next_state);
  seldom().next_state.reset();
  names.clear();
  trace = 0;
  asked_anything = false;
  if (Queries* const given = answers()) given->clear();
}

const std::shared_ptr<Queries>& CodeState::queries() {
  std::shared_ptr<Queries>& all = seldom().answers;
  if (all == nullptr) all = std::make_shared<Queries>();
  return all;
}

}  // namespace tiffany::detail

#include "tiffany/test/schedule.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/site.hpp"

namespace tiffany::test {

// ---- As text ----

std::string text_of(const Deviations& deviations) {
  if (deviations.empty()) return "fifo";
  std::string out;
  for (const Deviation& deviation : deviations) {
    if (!out.empty()) out += ',';
    out += std::to_string(deviation.choice) + ':' + std::to_string(deviation.index);
  }
  return out;
}

namespace {

bool take_number(std::string_view& text, std::size_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_char(std::string_view& text, char c) {
  if (!text.starts_with(c)) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

Deviations parse_deviations(std::string_view text) {
  Deviations deviations;
  if (text == "fifo") return deviations;
  std::string_view rest = text;
  do {
    Deviation next;
    const bool ok = take_number(rest, next.choice) && take_char(rest, ':') &&
                    take_number(rest, next.index) && next.index > 0 &&
                    (deviations.empty() || deviations.back().choice < next.choice);
    if (!ok) {
      throw Error(Errc::bad_argument,
                  "\"" + std::string(text) +
                      "\" is not a list of deviations. It is written as choice:index pairs in "
                      "ascending order with commas between, such as 3:1,7:2, or as fifo.");
    }
    deviations.push_back(next);
  } while (take_char(rest, ',') || !rest.empty());
  return deviations;
}

const char* name_of(Strategy strategy) noexcept {
  switch (strategy) {
    case Strategy::mixed:
      return "mixed";
    case Strategy::walk:
      return "walk";
    case Strategy::priorities:
      return "priorities";
    case Strategy::delays:
      return "delays";
  }
  return "unknown";
}

Schedule Schedule::with(Deviations deviations) {
  Schedule schedule;
  schedule.deviations_ = std::move(deviations);
  return schedule;
}

Schedule Schedule::seeded(std::uint64_t seed, std::size_t choices, Strategy strategy) {
  Schedule schedule;
  schedule.kind_ = Kind::seeded;
  schedule.seed_ = seed;
  schedule.choices_ = std::max<std::size_t>(1, choices);
  schedule.strategy_ = strategy;
  return schedule;
}

// ---- Choosing ----

namespace {

using Line = std::deque<TaskRecord*>;

}  // namespace

class DeviationOrder::Chooser {
 public:
  virtual ~Chooser() = default;
  // A task has become ready.
  virtual void pushed(const TaskRecord&) {}
  // One of at least two tasks.
  virtual std::size_t choose(std::size_t choice, const Line& ready) = 0;
  // A task was taken, by choice or because it was the only one.
  virtual void popped(const TaskRecord&) {}
};

namespace {

using Chooser = DeviationOrder::Chooser;

class ListChooser final : public Chooser {
 public:
  explicit ListChooser(Deviations deviations) : deviations_(std::move(deviations)) {}
  std::size_t choose(std::size_t choice, const Line& ready) override {
    if (at_ == deviations_.size() || deviations_[at_].choice != choice) return 0;
    const std::size_t index = deviations_[at_++].index;
    return index < ready.size() ? index : 0;
  }

 private:
  Deviations deviations_;
  std::size_t at_ = 0;
};

class WalkChooser final : public Chooser {
 public:
  explicit WalkChooser(std::uint64_t seed) : random_(seed, "random walk") {}
  std::size_t choose(std::size_t, const Line& ready) override {
    return random_.below(ready.size());
  }

 private:
  Random random_;
};

// By a number for each task, the largest first; what draws the numbers differs.
class RankedChooser : public Chooser {
 public:
  std::size_t choose(std::size_t, const Line& ready) override {
    const auto best = std::max_element(ready.begin(), ready.end(), [this](auto* a, auto* b) {
      return ranks_[a->id()] < ranks_[b->id()];
    });
    return static_cast<std::size_t>(best - ready.begin());
  }

 protected:
  std::map<TaskId, std::uint64_t> ranks_;
};

class DelayChooser final : public RankedChooser {
 public:
  explicit DelayChooser(std::uint64_t seed) : random_(seed, "delays") {}
  void pushed(const TaskRecord& task) override { ranks_[task.id()] = random_.next(); }
  void popped(const TaskRecord& task) override { ranks_.erase(task.id()); }

 private:
  Random random_;
};

// After Burckhardt and others, "A randomized scheduler with probabilistic guarantees of finding
// bugs", with the number of points drawn for each run. A task that yields again and again is put
// behind all others, so that one that waits in a loop lets them go on.
class PriorityChooser final : public RankedChooser {
 public:
  PriorityChooser(std::uint64_t seed, std::size_t choices) : random_(seed, "priorities") {
    for (std::uint64_t n = random_.below(5); n > 0; --n) points_.push_back(random_.below(choices));
  }
  void pushed(const TaskRecord& task) override {
    if (!ranks_.contains(task.id())) {
      ranks_[task.id()] = random_.next() | kAboveAllFallen;
    } else if (task.state() == TaskState::suspended && ++yields_ % kPatience == 0) {
      ranks_[task.id()] = --fallen_;
    }
  }
  std::size_t choose(std::size_t choice, const Line& ready) override {
    if (std::find(points_.begin(), points_.end(), choice) != points_.end()) {
      ranks_[ready[RankedChooser::choose(choice, ready)]->id()] = --fallen_;
    }
    return RankedChooser::choose(choice, ready);
  }

 private:
  // At every yield it would be round robin for tasks that yield, which finds little; rarer, and a
  // loop that waits takes longer to get out of.
  static constexpr std::uint64_t kPatience = 64;
  static constexpr std::uint64_t kAboveAllFallen = std::uint64_t{1} << 63;
  Random random_;
  std::vector<std::size_t> points_;
  std::uint64_t fallen_ = kAboveAllFallen;
  std::uint64_t yields_ = 0;
};

std::unique_ptr<Chooser> make_seeded(std::uint64_t seed, std::size_t choices, Strategy strategy) {
  if (strategy == Strategy::mixed) {
    constexpr Strategy kTurns[] = {Strategy::delays, Strategy::walk, Strategy::delays,
                                   Strategy::priorities};
    strategy = kTurns[seed % 4];
  }
  switch (strategy) {
    case Strategy::delays:
      return std::make_unique<DelayChooser>(seed);
    case Strategy::priorities:
      return std::make_unique<PriorityChooser>(seed, choices);
    default:
      return std::make_unique<WalkChooser>(seed);
  }
}

// The task, and the innermost line at which it stands.
class Where final : public FrameVisitor {
 public:
  explicit Where(const TaskRecord& task) : text(task.describe()) { task.visit_frames(*this); }
  void on_frame(const std::source_location& site) override {
    if (!found_) text += " at " + site_text(site);
    found_ = true;
  }
  std::string text;

 private:
  bool found_ = false;
};

std::string describe(const TaskRecord& task) {
  Where where(task);
  if (task.state() == TaskState::pending) where.text += ", not started";
  return std::move(where.text);
}

}  // namespace

struct DeviationOrder::Lines {
  std::map<std::uint8_t, Line> by_priority;
  Line& best() {
    auto at = by_priority.begin();
    while (at->second.empty()) ++at;
    return at->second;
  }
};

DeviationOrder::DeviationOrder(Schedule schedule, std::size_t max_picks)
    : lines_(std::make_unique<Lines>()), max_picks_(max_picks) {
  if (schedule.kind_ == Schedule::Kind::seeded) {
    chooser_ = make_seeded(schedule.seed_, schedule.choices_, schedule.strategy_);
  } else {
    chooser_ = std::make_unique<ListChooser>(std::move(schedule.deviations_));
  }
}

DeviationOrder::~DeviationOrder() = default;

void DeviationOrder::push(TaskRecord& task) {
  lines_->by_priority[task.priority()].push_back(&task);
  ++size_;
  chooser_->pushed(task);
}

TaskRecord& DeviationOrder::pop() {
  if (picks_ == max_picks_ && !stopped_) {
    stopped_ = true;  // the end of the scheduler must be able to go on
    throw Error(Errc::never_ends, "The program was still running after " +
                                      std::to_string(max_picks_) +
                                      " picks of a task. Either it never ends under this order, or "
                                      "it needs a higher max_picks().");
  }
  Line& ready = lines_->best();
  std::size_t index = 0;
  if (ready.size() > 1) {
    index = chooser_->choose(choices_, ready);
    if (index > 0) {
      deviations_.push_back(Deviation{choices_, index});
      if (recording_) {
        descriptions_.push_back("choice " + std::to_string(choices_) + ": " +
                                describe(*ready[index]) + ", instead of " + describe(*ready[0]));
      }
    }
    ++choices_;
    widths_.push_back(ready.size());
  }
  TaskRecord& task = *ready[index];
  if (recording_) recorded_.push_back(Pick{describe(task), Scheduler::owner(task)->trace_hash()});
  ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(index));
  --size_;
  ++picks_;
  chooser_->popped(task);
  return task;
}

}  // namespace tiffany::test

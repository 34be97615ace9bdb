// In which order a test runs its ready tasks, as a value: first in first out, except where told.
//
// Whenever more than one task of the most urgent priority is ready, the scheduler has a choice; the
// choices of a run are counted from 0. The usual choice is the task that has been ready for
// longest. A deviation is a choice at which another one was taken: its number, and the place of
// that task in the line. The deviations of a run say all there is to know about its order, are few
// where few matter, and survive small changes of the program better than a list of everything that
// happened.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/core/ready_queue.hpp"

namespace tiffany::test {

struct Deviation {
  std::size_t choice = 0;  // the how-manieth choice of the run, from 0
  std::size_t index = 0;   // which of the ready tasks ran; 0 would be the first, no deviation
  friend bool operator==(const Deviation&, const Deviation&) noexcept = default;
};

// Sorted by choice, at most one for each.
using Deviations = std::vector<Deviation>;

// As `3:1,7:2`, choice and index; `fifo` when there are none.
std::string text_of(const Deviations& deviations);
// The way back. Whatever is not such a list is an error (Errc::bad_argument) that shows it.
Deviations parse_deviations(std::string_view text);

// How to search for an order in which a program fails. Which one finds a bug depends on the bug
// (docs/decisions/0010-test-scheduler.md has the figures), so the default takes turns.
enum class Strategy : std::uint8_t {
  mixed,       // by the seed: one of those below, delays twice as often as the others
  walk,        // each choice is drawn by itself
  priorities,  // every task has a random priority; at up to four points the one in front falls back
  delays,      // every task draws a priority each time it becomes ready
};

const char* name_of(Strategy strategy) noexcept;

class Schedule {
 public:
  // First in first out, as a scheduler does by itself.
  static Schedule fifo() { return Schedule(); }
  // First in first out except for these. One that names a task that is not there is passed over.
  static Schedule with(Deviations deviations);
  // A random order. `choices` is how many choices the program is expected to have.
  static Schedule seeded(std::uint64_t seed, std::size_t choices = 64,
                         Strategy strategy = Strategy::mixed);

 private:
  friend class DeviationOrder;
  enum class Kind : std::uint8_t { list, seeded };
  Kind kind_ = Kind::list;
  Strategy strategy_ = Strategy::mixed;
  std::uint64_t seed_ = 0;
  std::size_t choices_ = 0;
  Deviations deviations_;
};

// Which task was given the processor, and what had happened until then.
struct Pick {
  std::string task;          // and the line at which it stood
  std::uint64_t trace_hash;  // of everything before
  friend bool operator==(const Pick&, const Pick&) noexcept = default;
};

// The policy that follows a schedule and notes how the run deviated from first in first out.
class DeviationOrder final : public ReadyPolicy {
 public:
  // More picks than `max_picks` are an error (Errc::never_ends), once.
  explicit DeviationOrder(Schedule schedule, std::size_t max_picks);
  ~DeviationOrder() override;

  void push(TaskRecord& task) override;
  TaskRecord& pop() override;
  std::size_t size() const noexcept override { return size_; }

  // Only the deviations that made a difference.
  const Deviations& deviations() const noexcept { return deviations_; }
  // What each of them was, in words.
  const std::vector<std::string>& descriptions() const noexcept { return descriptions_; }
  std::size_t choices() const noexcept { return choices_; }
  std::size_t picks() const noexcept { return picks_; }
  // How many tasks there were to choose from, for each choice.
  const std::vector<std::size_t>& widths() const noexcept { return widths_; }

  // From here on every pick is kept, and every deviation described.
  void record() noexcept { recording_ = true; }
  const std::vector<Pick>& recorded() const noexcept { return recorded_; }

  // How a run chooses; made from a schedule.
  class Chooser;

 private:
  struct Lines;

  std::unique_ptr<Chooser> chooser_;
  std::unique_ptr<Lines> lines_;
  std::size_t max_picks_;
  std::size_t size_ = 0;
  std::size_t picks_ = 0;
  std::size_t choices_ = 0;
  bool stopped_ = false;
  bool recording_ = false;
  Deviations deviations_;
  std::vector<std::string> descriptions_;
  std::vector<std::size_t> widths_;
  std::vector<Pick> recorded_;
};

}  // namespace tiffany::test

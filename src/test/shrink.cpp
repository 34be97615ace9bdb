#include <numeric>
#include <optional>
#include <utility>

#include "run.hpp"

namespace tiffany::test::detail {
namespace {

// Where runs are long, a limit on their number says little about the time they take.
constexpr std::size_t kMaxPicks = 5'000'000;
constexpr std::uint64_t kOtherSeeds = 500;

class Shrinker {
 public:
  Shrinker(const Body& body, Run first, const ExploreOptions& options)
      : body_(body), options_(options), best_(std::move(first)) {}

  // False when the failure does not come again.
  bool confirm() { return attempt(best_.deviations); }

  // Until nothing can be taken away and nothing lowered. Every success makes the list shorter or an
  // index smaller, so this ends.
  bool make_minimal() {
    attempt({});
    do {
      remove_parts();
    } while (lower_an_index());
    return !out_of_runs();
  }

  // What cannot be made smaller by small steps may still be far from the smallest. So the orders of
  // other seeds that fail in the same way are reduced too, and the best of them wins.
  void try_other_seeds(std::uint64_t first, std::size_t choices) {
    for (std::uint64_t seed = first; seed < first + kOtherSeeds; ++seed) {
      if (best_.deviations.size() <= 3 || runs_ >= options_.max_shrink_runs() / 2) return;
      std::optional<Run> other = run_with(Schedule::seeded(seed, choices, options_.strategy()));
      if (!other || other->kind != best_.kind) continue;
      Run shortest = std::exchange(best_, std::move(*other));
      const bool better = make_minimal() && best_.deviations.size() < shortest.deviations.size();
      if (!better) best_ = std::move(shortest);
    }
  }

  // Tries all lists that are shorter, the shortest first. True when it got through.
  bool make_fewest() {
    for (std::size_t length = 1; length < best_.deviations.size(); ++length) {
      if (search({}, length)) break;
      if (out_of_runs()) return false;
    }
    return !out_of_runs();
  }

  std::size_t runs() const noexcept { return runs_; }
  Run& best() noexcept { return best_; }

 private:
  bool out_of_runs() const noexcept {
    return runs_ >= options_.max_shrink_runs() || picks_ >= kMaxPicks;
  }
  // Runs the body once more; when it fails in the same way, that run is the best from now on.
  bool attempt(Deviations deviations) {
    std::optional<Run> run = run_with(Schedule::with(std::move(deviations)));
    if (!run || run->kind != best_.kind) return false;
    best_ = std::move(*run);
    return true;
  }
  std::optional<Run> run_with(Schedule schedule) {
    if (out_of_runs()) return std::nullopt;
    ++runs_;
    Run run = run_once(body_, std::move(schedule), options_);
    picks_ += run.pick_count;
    return run;
  }

  // Zeller's delta debugging without the complements: halves, quarters, ... single ones.
  void remove_parts() {
    for (std::size_t part = best_.deviations.size(); part > 0; part /= 2) {
      for (std::size_t at = 0; at < best_.deviations.size();) {
        Deviations without(best_.deviations.begin(), best_.deviations.begin() + diff(at));
        const std::size_t end = std::min(at + part, best_.deviations.size());
        without.insert(without.end(), best_.deviations.begin() + diff(end), best_.deviations.end());
        if (attempt(std::move(without))) {
          at = 0;  // what is left may have become superfluous
        } else {
          at += part;
        }
        if (out_of_runs()) return;
      }
    }
  }
  bool lower_an_index() {
    for (std::size_t at = 0; at < best_.deviations.size(); ++at) {
      for (std::size_t index = 1; index < best_.deviations[at].index; ++index) {
        Deviations lower = best_.deviations;
        lower[at].index = index;
        if (attempt(std::move(lower))) return true;
      }
    }
    return false;
  }
  // All ways to add `more` deviations behind those of `prefix`.
  bool search(const Deviations& prefix, std::size_t more) {
    const std::optional<Run> run = run_with(Schedule::with(prefix));
    if (!run) return false;
    for (std::size_t choice = prefix.empty() ? 0 : prefix.back().choice + 1;
         choice < run->widths.size(); ++choice) {
      for (std::size_t index = 1; index < run->widths[choice]; ++index) {
        Deviations longer = prefix;
        longer.push_back(Deviation{choice, index});
        if (more == 1 ? attempt(std::move(longer)) : search(longer, more - 1)) return true;
        if (out_of_runs()) return false;
      }
    }
    return false;
  }
  static std::ptrdiff_t diff(std::size_t at) { return static_cast<std::ptrdiff_t>(at); }

  const Body& body_;
  const ExploreOptions& options_;
  Run best_;
  std::size_t runs_ = 0;
  std::size_t picks_ = 0;
};

}  // namespace

Run shrink(const Body& body, Run first, std::size_t choices, const ExploreOptions& options,
           Exploration& result) {
  Shrinker shrinker(body, std::move(first), options);
  if (shrinker.confirm()) {
    result.minimal = shrinker.make_minimal();
    shrinker.try_other_seeds(result.seed + 1, choices);
    result.fewest = result.minimal && shrinker.make_fewest();
  } else {
    result.unstable = true;
  }
  result.shrink_runs = shrinker.runs();
  return std::move(shrinker.best());
}

}  // namespace tiffany::test::detail

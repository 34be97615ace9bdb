#include "tiffany/test/explore.hpp"

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <typeinfo>

#include "run.hpp"
#include "tiffany/core/deadlock.hpp"
#include "tiffany/core/site.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany::test {
namespace {

// The failed check of the run that is going on, if there is one.
struct CheckNote {
  std::string kind;
  std::string text;
};
constinit thread_local CheckNote* current_note = nullptr;

class NoteScope {
 public:
  explicit NoteScope(CheckNote& note) noexcept : outer_(std::exchange(current_note, &note)) {}
  ~NoteScope() { current_note = outer_; }
  NoteScope(const NoteScope&) = delete;
  NoteScope& operator=(const NoteScope&) = delete;

 private:
  CheckNote* outer_;
};

}  // namespace

void check(bool holds, const char* message, std::source_location site) {
  if (holds) return;
  std::string text = "A check did not hold at " + site_text(site);
  if (*message != '\0') text += std::string(": ") + message;
  if (current_note != nullptr && current_note->kind.empty()) {
    *current_note = CheckNote{"check at " + site_text(site), text};
  }
  throw CheckFailed(text);
}

namespace detail {
namespace {

// The two ends of a run that may only be the consequence of an error in one of its tasks.
bool may_be_a_consequence(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    return known.code() == Errc::deadlock || known.code() == Errc::never_ends;
  } catch (...) {
    return false;
  }
}

void describe(const std::exception_ptr& error, Run& run) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& known) {
    run.kind = "error " + std::to_string(static_cast<int>(known.code()));
    run.error = known.what();
  } catch (const std::exception& known) {
    run.kind = typeid(known).name();
    run.error = known.what();
  } catch (const Cancelled& cancelled) {
    run.kind = "cancelled";
    run.error = "The body was " + cancelled.reason().text();
  } catch (...) {
    run.kind = "exception";
    run.error = "An exception that is not a std::exception";
  }
}

Run run_in(TestScheduler& test, const Body& body) {
  Run run;
  CheckNote note;
  const NoteScope scope(note);
  std::exception_ptr error;
  try {
    body(test);
  } catch (...) {
    error = std::current_exception();
  }
  if (!test.unseen_errors().empty() && (error == nullptr || may_be_a_consequence(error))) {
    error = test.unseen_errors().front();
  }
  if (error != nullptr) describe(error, run);
  if (!note.kind.empty()) {
    run.kind = note.kind;
    run.error = note.text;
  }
  const DeviationOrder& order = test.order();
  run.deviations = order.deviations();
  run.order = order.descriptions();
  run.widths = order.widths();
  run.picks = order.recorded();
  run.pick_count = order.picks();
  return run;
}

TestOptions options_for(Schedule schedule, std::size_t max_picks) {
  return TestOptions().schedule(std::move(schedule)).quantum(1).max_picks(max_picks);
}

// ---- The command ----

std::string quoted(const std::string& text) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,@+%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string make_command(const Deviations& deviations, const ExploreOptions& options) {
  const std::string name = options.name().empty() ? "" : options.name() + "@";
  std::string out = "TIFFANY_REPLAY=" + quoted(name + text_of(deviations));
  const std::string& added = options.argument();
  const std::string flag = added.substr(0, added.find('=')) + "=";
  for (const std::string& argument : os_world().processes().arguments()) {
    if (added.empty() || !argument.starts_with(flag)) out += " " + quoted(argument);
  }
  if (!added.empty()) out += " " + quoted(added);
  return out;
}

// ---- Exploring ----

void keep(Run run, Exploration& result) {
  result.failed = run.failed();
  result.error = std::move(run.error);
  result.deviations = std::move(run.deviations);
  result.order = std::move(run.order);
}

Exploration replay(const Body& body, std::string_view what, const ExploreOptions& options) {
  Exploration result;
  result.replayed = true;
  const std::size_t end_of_name = what.rfind('@');
  const bool named = end_of_name != std::string_view::npos;
  if (named && what.substr(0, end_of_name) != options.name()) {
    result.skipped = true;
    std::fprintf(stderr, "explore: skipped, because TIFFANY_REPLAY is for %s\n",
                 std::string(what.substr(0, end_of_name)).c_str());
    return result;
  }
  const std::string list(named ? what.substr(end_of_name + 1) : what);
  std::fprintf(stderr, "explore: one run, with the deviations that TIFFANY_REPLAY names: %s\n",
               list.c_str());
  keep(run_once(body, Schedule::with(parse_deviations(list)), options, true), result);
  result.found = result.deviations;
  result.runs = 1;
  if (result.failed) result.command = make_command(result.deviations, options);
  return result;
}

}  // namespace

Run run_once(const Body& body, Schedule schedule, const ExploreOptions& options, bool record) {
  TestScheduler test(options_for(std::move(schedule), options.max_picks()));
  if (record) test.order().record();
  return run_in(test, body);
}

void run_main(TestScheduler& test, Handle<void> main) {
  test.run();
  tiffany::detail::result_now(std::move(main));
}

Exploration explore(const Body& body, const Seeds& seeds, const ExploreOptions& options) {
  if (const char* what = std::getenv("TIFFANY_REPLAY")) return replay(body, what, options);
  Exploration result;
  Run run = run_once(body, Schedule::fifo(), options);
  result.runs = 1;
  // From the first run alone, so that a seed means the same whichever came before it.
  const std::size_t choices = run.widths.size();
  for (std::size_t i = 0; i < seeds.count() && !run.failed(); ++i) {
    result.seed = seeds.first() + i;
    run = run_once(body, Schedule::seeded(result.seed, choices, options.strategy()), options);
    ++result.runs;
  }
  if (!run.failed()) {
    result.seed = 0;
    return result;
  }
  result.found = run.deviations;
  Run best = shrink(body, std::move(run), choices, options, result);
  // Once more, to have the order in words.
  Run last = run_once(body, Schedule::with(best.deviations), options, true);
  if (last.kind != best.kind) {
    result.unstable = true;
    last = std::move(best);
  }
  keep(std::move(last), result);
  result.command = make_command(result.deviations, options);
  return result;
}

Determinism check_deterministic(const Body& body, std::uint64_t seed) {
  const auto schedule = [&] { return seed == 0 ? Schedule::fifo() : Schedule::seeded(seed); };
  const std::size_t max_picks = ExploreOptions().max_picks();
  // Both stay until the end, so that nothing has the same address in both.
  TestScheduler first_scheduler(options_for(schedule(), max_picks));
  TestScheduler second_scheduler(options_for(schedule(), max_picks));
  first_scheduler.order().record();
  second_scheduler.order().record();
  const Run first = run_in(first_scheduler, body);
  const Run second = run_in(second_scheduler, body);

  Determinism result;
  result.picks = first.picks.size();
  std::size_t at = 0;
  while (at < first.picks.size() && at < second.picks.size() &&
         first.picks[at] == second.picks[at]) {
    ++at;
  }
  const bool same_end =
      first_scheduler.scheduler().trace_hash() == second_scheduler.scheduler().trace_hash();
  result.same = at == first.picks.size() && at == second.picks.size() && same_end &&
                first.error == second.error;
  if (result.same) return result;
  const auto pick_of = [&](const Run& run) {
    return at < run.picks.size() ? "picked " + run.picks[at].task : std::string("was over");
  };
  result.text = "Two runs of one order differ. ";
  result.text +=
      at == 0 ? std::string("At the start")
              : "After pick " + std::to_string(at) + ", of " + first.picks[at - 1].task + ",";
  const bool both = at < first.picks.size() && at < second.picks.size();
  if (both && first.picks[at].task == second.picks[at].task) {
    result.text += " the two runs made different system calls.";
  } else {
    result.text += " the first run " + pick_of(first) + ", the second " + pick_of(second) + ".";
  }
  if (first.error != second.error) {
    const auto end_of = [](const Run& run) { return run.failed() ? run.error : "no error"; };
    result.text +=
        " The first ended with: " + end_of(first) + ". The second: " + end_of(second) + ".";
  }
  result.text +=
      " Look for what differs from run to run: an address, the order of a hash table, a real "
      "clock, "
      "a static variable.";
  return result;
}

}  // namespace detail

std::string Exploration::text() const {
  if (skipped) return "Not run: TIFFANY_REPLAY is for another body.\n";
  const std::string after = std::to_string(runs) + (runs == 1 ? " run" : " runs");
  if (!failed) return "No failure in " + after + ".\n";
  std::string out = "A failure, after " + after;
  if (seed != 0) out += " (seed " + std::to_string(seed) + ")";
  out += ":\n" + error + "\n";
  if (unstable) {
    out +=
        "It did not come again under the same order: the body depends on something else than "
        "its order. check_deterministic() says where.\n";
  }
  if (deviations.empty()) {
    out += "The order was first in first out.\n";
  } else {
    const std::size_t count = deviations.size();
    out += "The order was first in first out, except for " + std::to_string(count) +
           (count == 1 ? " deviation" : " deviations");
    if (!replayed) {
      out += " (of " + std::to_string(found.size()) + " at first; " +
             (fewest ? "no order with fewer fails" : "fewer may do") + ")";
    }
    out += ":\n";
    for (const std::string& line : order) out += "  " + line + "\n";
  }
  return out + "Run it again with:\n  " + command + "\n";
}

}  // namespace tiffany::test

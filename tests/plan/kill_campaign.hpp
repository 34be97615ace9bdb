// A program with plans that is killed again and again, sometimes together with supervisors of its
// commands; and what must be true afterwards.
#pragma once

#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tiffany/exec/commands.hpp"
#include "tiffany/io/system_reactor.hpp"
#include "tiffany/plan/run.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/log_options.hpp"

namespace tiffany {

class KillCampaign {
 public:
  KillCampaign(std::string directory, std::string supervisor, int plans, std::uint64_t seed)
      : directory_(std::move(directory)),
        supervisor_(std::move(supervisor)),
        plans_(plans),
        random_(seed) {}

  // Every so many kills, a few supervisors go with the program; zero: never.
  void run(int kills, int with_supervisors) {
    for (int i = 1; i <= kills; ++i) {
      const pid_t worker = begin();
      usleep(static_cast<useconds_t>(5'000 + random_.below(150'000)));  // a fault, not a step
      const bool both = with_supervisors > 0 && i % with_supervisors == 0;
      if (both) kill_supervisors();
      kill(worker, SIGKILL);
      waitpid(worker, nullptr, 0);
      if (both) kill_supervisors();
    }
    int status = 0;
    waitpid(begin(), &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) say("the last program did not end well");
    check(with_supervisors > 0);
  }
  // A sentence for each thing that is wrong.
  const std::vector<std::string>& wrong() const { return wrong_; }
  int supervisors_killed() const { return supervisors_killed_; }

 private:
  void say(std::string what) { wrong_.push_back(std::move(what)); }
  Uuid id_of(int number) const { return Uuid::derived(Uuid(), "plan " + std::to_string(number)); }
  plan::Plan plan_of(int number) const {
    const std::string text = R"(
params: {n: ~, ledger: ~, flag: ~}
env: {N: "${{ params.n }}", LEDGER: "${{ params.ledger }}", FLAG: "${{ params.flag }}"}
steps:
  - {name: first, shell: true, outputs: [v],
     run: 'echo "first $N" >> "$LEDGER"; echo "v=$N" >> "$TIFFANY_OUTPUT"'}
  - {name: once, needs: [first], class: at_most_once, locks: [held], shell: true,
     run: 'mkdir "$LEDGER.held" || echo "overlap $N" >> "$LEDGER"; echo "once $N" >> "$LEDGER";
       sleep 0.02; rmdir "$LEDGER.held"'}
  - {name: flaps, needs: [first], retry: {attempts: 2, pause: 20ms}, shell: true,
     run: 'test -e "$FLAG" || { touch "$FLAG"; exit 1; }'}
  - {name: ask, needs: [flaps], approve: "Go on with ${{ steps.first.outputs.v }}?"}
  - {name: last, needs: [ask], shell: true, run: 'echo "last $N" >> "$LEDGER"'}
finally:
  - {name: clean, shell: true, run: 'echo "clean $N" >> "$LEDGER"'}
)";
    plan::Checked checked = plan::check(text, "plan" + std::to_string(number));
    if (!checked.plan) std::abort();
    return *checked.plan;
  }

  pid_t begin() {
    const pid_t child = fork();
    if (child == 0) _exit(live() ? 0 : 1);
    return child;
  }
  static Task<void> approve_all(Host* host, std::vector<Uuid> ids) {
    for (;;) {
      for (const Uuid& id : ids) {
        if (host->info(id)->status != DurableStatus::running) continue;
        plan::PlanView view;
        try {
          view = co_await host->ask(id, plan::kPlanView);
        } catch (const Error&) {
          continue;  // it has ended meanwhile
        }
        for (const plan::UnitView& each : view.units) {
          if (each.state != "awaiting approval") continue;
          plan::Approval yes;
          yes.approved = true;
          yes.digest = each.digest;
          co_await host->complete(*Uuid::parse(each.promise), yes);
        }
      }
      co_await sleep(std::chrono::milliseconds(10));
    }
  }
  // One life of the program.
  bool live() const {
    exec::Commands commands(directory_ + "/commands", supervisor_);
    plan::PlanServices services(commands, directory_ + "/locks");
    Registry types;
    plan::add_plans(types, services);
    Host host(types, wal::LogOptions(directory_ + "/wal"));
    Scheduler scheduler(Options().clock(system_reactor()));
    const auto program = [&]() -> Task<void> {
      co_await host.open();
      std::vector<Uuid> ids;
      for (int i = 0; i < plans_; ++i) {
        plan::Values values{{"n", std::to_string(i)},
                            {"ledger", directory_ + "/ledger"},
                            {"flag", directory_ + "/flag" + std::to_string(i)}};
        co_await host.start_as(id_of(i), plan::kPlanType, plan_of(i), values);
        ids.push_back(id_of(i));
      }
      auto person = spawn(&KillCampaign::approve_all, &host, ids);
      std::ofstream ends(directory_ + "/ends", std::ios::trunc);
      for (const Uuid& id : ids) {
        std::string said = "done";
        try {
          co_await host.result_json(id);
        } catch (const Error& error) {
          said = error.what();
        }
        ends << said << "\n";
      }
      person.cancel("all have ended");
      co_await person.outcome();
      co_await host.close();
    };
    auto handle = scheduler.spawn(std::ref(program));
    scheduler.run();
    return outcome_of(handle, false).ok();
  }

  void kill_supervisors() {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/commands", none)) {
      if (std::filesystem::exists(entry.path() / "exit.json")) continue;
      std::ifstream file(entry.path() / "supervisor");
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      if (text.empty() || random_.below(2) == 0) continue;
      const auto mark = from_json<exec::SupervisorMark>(text);
      std::ifstream about("/proc/" + std::to_string(mark.pid) + "/comm");
      std::string name;
      std::getline(about, name);
      if (name != "tiffany-run") continue;
      kill(static_cast<pid_t>(mark.pid), SIGKILL);
      ++supervisors_killed_;
    }
  }

  void check(bool supervisors_died) {
    std::map<std::string, int> lines;
    std::ifstream ledger(directory_ + "/ledger");
    for (std::string line; std::getline(ledger, line);) ++lines[line];
    std::vector<std::string> ends;
    std::ifstream file(directory_ + "/ends");
    for (std::string line; std::getline(file, line);) ends.push_back(line);
    if (ends.size() != static_cast<std::size_t>(plans_)) say("a plan has not ended");
    for (int i = 0; i < plans_ && !ends.empty(); ++i) {
      const std::string number = std::to_string(i);
      const std::string& end = ends[std::min(ends.size() - 1, static_cast<std::size_t>(i))];
      const bool unknown = end.find("at_most_once") != std::string::npos;
      if (end != "done" && !(supervisors_died && unknown)) say("plan " + number + ": " + end);
      if (lines["overlap " + number] > 0 && !supervisors_died) {
        say("the step \"once\" of " + number + " ran while another plan had its lock");
      }
      if (lines["once " + number] > 1) say("the step \"once\" of " + number + " ran twice");
      if (lines["once " + number] == 0 && !unknown)
        say("the step \"once\" of " + number + " is lost");
      for (const char* const step : {"first ", "last ", "clean "}) {
        const int count = lines[step + number];
        if (count == 0) say(step + number + " is lost");
        if (count > 1 && !supervisors_died) say(step + number + " ran " + std::to_string(count));
      }
    }
    for (const auto& entry : std::filesystem::directory_iterator(directory_ + "/commands")) {
      if (!entry.is_directory()) continue;  // of the forker
      if (!std::filesystem::exists(entry.path() / "exit.json")) {
        say("no end in " + entry.path().string());
      }
    }
    if (std::filesystem::exists(directory_ + "/locks/held")) say("a lock is left");
    if (const std::string left = left_over(); !left.empty()) say("a process is left: " + left);
  }
  // Processes of our commands that are still there.
  std::string left_over() const {
    std::string all;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      std::ifstream file(entry.path() / "environ", std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      if (text.find(directory_ + "/commands") != std::string::npos) all += name + " ";
    }
    return all;
  }

  std::string directory_;
  std::string supervisor_;
  int plans_;
  Random random_;
  int supervisors_killed_ = 0;
  std::vector<std::string> wrong_;
};

}  // namespace tiffany

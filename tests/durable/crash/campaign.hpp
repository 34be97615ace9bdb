// A crash campaign: a process full of durable tasks is killed with SIGKILL, at moments drawn from a
// seed, and started again, until it has ended all of them. Then everything that happened outside is
// counted.
//
//   Campaign campaign(Layout::journal, 1000, 200, seed, directory);
//   campaign.run();                     // campaign.complaints is what is wrong
//
// It goes in rounds. Each has its own log: one run without a kill, to compare with; then one that
// is killed, up to `kKillsOfARound` times, and ends; then the log is opened once more.
#pragma once

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "durable/crash/worker.hpp"

namespace tiffany::crash {

// When a worker is killed: some time after it began or after its log was open, or after a number of
// messages, before or after the last is answered.
class Fate {
 public:
  Fate() = default;
  explicit Fate(Random& source) {
    if (source.below(2) == 0) {
      after = std::chrono::microseconds(source.below(source.below(4) == 0 ? 200'000 : 30'000));
      when_open = source.below(4) != 0;
    } else {
      messages = 1 + static_cast<int>(source.below(80));
      answered = source.below(2) == 0;
    }
  }
  std::optional<std::chrono::microseconds> after{};
  bool when_open = false;
  int messages = 0;  // none: not by messages
  bool answered = false;
};

class Campaign {
 public:
  static constexpr int kKillsOfARound = 40;
  static constexpr auto kLongestLife = std::chrono::seconds(120);

  Campaign(wal::Layout layout, int wanted, int tasks, std::uint64_t seed, std::string directory)
      : layout_(layout),
        wanted_(wanted),
        tasks_(tasks),
        seed_(seed),
        directory_(std::move(directory)),
        random_(seed, "crash campaign") {}

  void run() {
    for (int round = 1; kills < wanted_ && complaints.empty(); ++round) run_round(round);
  }

  std::vector<std::string> complaints;
  int kills = 0;
  int lives = 0;
  int rounds = 0;
  std::uint64_t effects = 0;
  std::uint64_t unknown = 0;
  std::uint64_t repeated = 0;
  std::uint64_t acknowledged = 0;
  std::uint64_t killed_while_opening = 0;
  bool verbose = false;

 private:
  void run_round(int round) {
    const std::uint64_t seed = seed_ * 1000 + static_cast<std::uint64_t>(round);
    Ledger undisturbed(tasks_);
    live_on(undisturbed, Setup(fresh("undisturbed"), layout_, tasks_, seed), 0);
    if (undisturbed.complaints.empty()) undisturbed.check_effects();
    take_complaints(undisturbed, "round " + std::to_string(round) + ", undisturbed");
    if (!complaints.empty()) return;

    Ledger ledger(tasks_);
    const Setup setup(fresh("killed"), layout_, tasks_, seed);
    live_on(ledger, setup, std::min(kKillsOfARound, wanted_ - kills));
    ledger.done = false;
    if (ledger.complaints.empty()) live_on(ledger, setup, 0);  // finds everything ended
    if (ledger.complaints.empty()) {
      ledger.check_effects();
      ledger.check_against(undisturbed);
    }
    take_complaints(ledger, "round " + std::to_string(round) + " in " + setup.directory);
    ++rounds;
    effects += ledger.effects.size();
    unknown += ledger.unknown.size();
    repeated += ledger.repeated;
    acknowledged += ledger.acknowledged;
    if (!complaints.empty()) return;
    std::filesystem::remove_all(setup.directory);
    if (verbose) std::printf("  round %d: %d kills so far\n", round, kills);
    if (verbose) std::fflush(stdout);
  }

  std::string fresh(const std::string& name) const {
    const std::string path = directory_ + "/" + name;
    std::filesystem::remove_all(path);
    return path;
  }
  void take_complaints(const Ledger& ledger, const std::string& where) {
    for (const std::string& each : ledger.complaints) complaints.push_back(where + ": " + each);
  }

  // Lets workers live until one has ended everything, and kills that many of them.
  void live_on(Ledger& ledger, const Setup& setup, int most) {
    while (!ledger.done && ledger.complaints.empty()) {
      const Fate fate = most > 0 ? Fate(random_) : Fate();
      if (one_life(ledger, setup, fate)) --most;
    }
  }

  // True when it was killed.
  bool one_life(Ledger& ledger, const Setup& setup, const Fate& fate) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    ledger.begin_life();
    ++lives;
    std::fflush(nullptr);
    const pid_t worker = ::fork();
    if (worker < 0) std::abort();
    if (worker == 0) {
      ::close(ends[0]);
      work(setup, ledger, ends[1]);
    }
    ::close(ends[1]);
    const bool killed = watch(ledger, worker, ends[0], fate);
    int status = 0;
    ::waitpid(worker, &status, 0);
    drain(ledger, ends[0]);
    ::close(ends[0]);
    const bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (killed && !ended_well) {
      ++kills;
      if (!ledger.opened) ++killed_while_opening;
      return true;
    }
    if (!ended_well) ledger.wrong("the worker ended by itself, with " + std::to_string(status));
    if (ended_well && !ledger.done) ledger.wrong("the worker ended before its tasks");
    return false;
  }

  // Answers until the worker ends or is killed. True: it was.
  bool watch(Ledger& ledger, pid_t worker, int socket, const Fate& fate) {
    auto begin = std::chrono::steady_clock::now();
    bool opening = fate.when_open;
    int messages = 0;
    std::string message;
    for (;;) {
      const bool longest = !fate.after || opening;
      const auto limit = longest ? std::chrono::microseconds(kLongestLife) : *fate.after;
      const auto left = limit - std::chrono::duration_cast<std::chrono::microseconds>(
                                    std::chrono::steady_clock::now() - begin);
      if (left.count() <= 0) {
        ::kill(worker, SIGKILL);
        if (longest) ledger.wrong("the worker did not end in two minutes");
        return true;
      }
      pollfd ready{socket, POLLIN, 0};
      const timespec wait{left.count() / 1'000'000, (left.count() % 1'000'000) * 1000};
      if (::ppoll(&ready, 1, &wait, nullptr) <= 0) continue;
      if (!receive_message(socket, message)) return false;
      const std::string answer = ledger.take(message);
      if (opening && ledger.opened) {
        opening = false;
        begin = std::chrono::steady_clock::now();
      }
      const bool last = message[0] != 'H' && ++messages == fate.messages;
      if (last && !fate.answered) ::kill(worker, SIGKILL);
      if (!answer.empty()) send_message(socket, answer);
      if (last) ::kill(worker, SIGKILL);
      if (last) return true;
    }
  }

  // What the worker had sent before it died has happened.
  static void drain(Ledger& ledger, int socket) {
    std::string message;
    while (receive_message(socket, message, MSG_DONTWAIT)) ledger.take(message);
  }

  wal::Layout layout_;
  int wanted_;
  int tasks_;
  std::uint64_t seed_;
  std::string directory_;
  Random random_;
};

}  // namespace tiffany::crash

// The stage of the order demo: a ledger outside of the process, and the hand that kills it.
//
// The process writes lines: "say <text>" is for the reader; "reach <moment>" says how far it has
// come and waits for an answer. The demo answers, or kills it there.
#pragma once

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/io/buffered.hpp"
#include "tiffany/io/process.hpp"
#include "tiffany/tiffany.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

// A line for each effect. Those who write it are not us: it survives.
class Ledger {
 public:
  explicit Ledger(std::string path) : path_(std::move(path)) {}
  void add(const std::string& who, const std::string& what, const std::string& key) const {
    std::ofstream(path_, std::ios::app) << key << '\t' << who << '\t' << what << '\n';
  }
  bool has(const std::string& key) const {
    std::ifstream lines(path_);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(key + '\t')) return true;
    }
    return false;
  }
  // How often each thing was done, in the order in which that happened first.
  std::vector<std::pair<std::string, int>> counts() const {
    std::vector<std::pair<std::string, int>> all;
    std::map<std::string, std::size_t> places;
    std::ifstream lines(path_);
    for (std::string line; std::getline(lines, line);) {
      const std::size_t tab = line.find('\t');
      std::string what = line.substr(tab + 1);
      what.replace(what.find('\t'), 1, " has ");
      const auto [place, first] = places.emplace(what, all.size());
      if (first) all.emplace_back(what, 0);
      ++all[place->second].second;
    }
    return all;
  }

 private:
  std::string path_;
};

// What the process sees of the services.
class Services {
 public:
  explicit Services(const std::string& directory) : ledger(directory + "/ledger") { the_ = this; }
  ~Services() { the_ = nullptr; }
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;
  static Services& the() { return *the_; }

  void say(const std::string& text) {
    std::printf("say %s\n", text.c_str());
    std::fflush(stdout);
  }
  Task<void> reach(std::string moment) {
    std::printf("reach %s\n", moment.c_str());
    std::fflush(stdout);
    const auto answer = co_await answers_.line();
    if (!answer) throw std::runtime_error("the demo is gone");
  }

  const Ledger ledger;

 private:
  static inline Services* the_ = nullptr;
  ByteStream input_{Descriptor(0), false};
  BufferedReader<ByteStream> answers_{input_};
};

struct Kill {
  std::string moment;
  std::string why;
};

// One process, until it ends or comes to the moment at which it is killed. True: it was.
inline Task<bool> one_life(const std::string& program, const std::string& directory,
                           const std::string& moment) {
  Process process(Command(program).arg("work").arg(directory).pipe_input().pipe_output());
  BufferedReader<ByteStream> lines(process.output());
  for (;;) {
    const auto line = co_await lines.line();
    if (!line) break;
    if (line->starts_with("say ")) std::printf("  %s\n", line->c_str() + 4);
    if (!line->starts_with("reach ")) continue;
    if (line->substr(6) == moment) {
      process.kill(SIGKILL);
      co_await process.wait();
      co_return true;
    }
    co_await process.input().write("go on\n");
  }
  const ExitStatus end = co_await process.wait();
  if (!end.ok()) throw std::runtime_error("the process ended with " + end.text());
  co_return false;
}

inline Task<void> demo(std::string program, std::vector<Kill> kills) {
  std::string directory =
      (std::filesystem::temp_directory_path() / "tiffany-order-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) throw std::runtime_error("no temporary directory");
  std::printf(
      "Two orders are durable tasks of one process: reserve, wait for a manager, charge, ship.\n"
      "That process is killed with SIGKILL at the worst moments, and started again each time.\n");
  int lives = 0;
  for (auto next = kills.begin();; ++next) {
    std::printf("\nProcess %d\n", ++lives);
    const bool last = next == kills.end();
    const std::string moment = last ? "" : next->moment;
    const bool killed = co_await one_life(program, directory, moment);
    if (killed == last) throw std::runtime_error("the process did not do what the demo expects");
    if (last) break;
    std::printf("  SIGKILL: %s\n", next->why.c_str());
  }
  std::printf("\nIt was killed %d times. This is what happened outside, by the ledgers there:\n",
              lives - 1);
  for (const auto& [what, times] : Ledger(directory + "/ledger").counts()) {
    std::printf("  %d x  %s\n", times, what.c_str());
  }
  std::printf(
      "\nThat is what should have happened, and nothing happened twice:\n"
      "- A step whose end was in the log was not run again; its result came from there.\n"
      "- One that had begun was run again with the same idempotency key, and whoever knows the "
      "key\n"
      "  did nothing the second time: warehouse, carrier, refund.\n"
      "- The bank takes money as often as it is asked, so that step may happen once at most: the\n"
      "  order was told that the outcome is unknown, and looked it up.\n"
      "- The promise of the manager and the three days are in the log: no process has to be there\n"
      "  while somebody thinks.\n");
  std::filesystem::remove_all(directory);
}

// For `./dev soak daemon [kills] [plans] [seed]`: a daemon full of plans is killed again and again,
// sometimes together with the supervisors of its commands. Each command of class at_most_once ran
// at most once, everything else ended as it would have undisturbed, nothing is left behind, and the
// log is whole.
#include <dirent.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "app/daemon_process.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/wal/disk.hpp"
#include "tiffany/wal/verify.hpp"

namespace tiffany::daemon_tests {
namespace {

using namespace std::chrono_literals;

// A plan that writes down what it does: one step at most once, one until it works, one that waits.
std::string plan_text(const std::string& ledger, int number, Random& random) {
  const std::string name = "p" + std::to_string(number);
  const auto say = [&](const std::string& step) {
    return "echo " + name + "." + step + " >> " + ledger;
  };
  std::ostringstream out;
  out << "name: " << name << "\nsteps:\n"
      << "  - {name: first, shell: true, run: '" << say("first") << "'}\n"
      << "  - {name: once, needs: [first], class: at_most_once, allow_failure: true, shell: true,"
      << " run: '" << say("once") << "; sleep 0." << random.below(10) << "'}\n"
      << "  - {name: flaps, needs: [first], shell: true, retry: {attempts: 100, pause: 10ms},"
      << " run: '" << say("flaps") << "; test $(grep -c " << name << ".flaps " << ledger
      << ") -ge 2'}\n";
  const bool asks = random.below(4) == 0;
  if (asks) out << "  - {name: ask, needs: [first], approve: 'may " << name << " go on?'}\n";
  out << "  - {name: last, needs: [once, flaps" << (asks ? ", ask" : "") << "], shell: true, run: '"
      << say("last") << "'}\n";
  return out.str();
}

// Processes whose environment says that they belong to a command of this daemon.
std::vector<pid_t> processes_of(const std::string& directory, const char* program) {
  std::vector<pid_t> found;
  DIR* const all = opendir("/proc");
  while (const dirent* const entry = readdir(all)) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    const std::string base = std::string("/proc/") + entry->d_name;
    std::ifstream words(base + "/cmdline", std::ios::binary);
    std::stringstream text;
    text << words.rdbuf();
    const std::string command = text.str();
    if (command.find(program) != std::string::npos &&
        command.find(directory) != std::string::npos) {
      found.push_back(pid);
    }
  }
  closedir(all);
  return found;
}

std::map<std::string, int> lines_of(const std::string& ledger) {
  std::map<std::string, int> counts;
  std::ifstream in(ledger);
  for (std::string line; std::getline(in, line);) ++counts[line];
  return counts;
}

std::string quoted(const std::string& text) {
  std::string out;
  JsonWriter(out).value(text);
  return out;
}

// Everything that waits for an approval gets it.
void approve_all(const DaemonProcess& daemon) {
  const std::string open = get(daemon.socket(), "/promises?limit=10000").body;
  for (std::size_t at = 0; (at = open.find("\"task\":\"", at)) != std::string::npos;) {
    at += 8;
    const std::string task = "/tasks/" + open.substr(at, 36);
    const std::string state = get(daemon.socket(), task + "/plan").body;
    const std::size_t asks = state.find("awaiting approval");
    if (asks == std::string::npos) continue;
    const std::string digest = member_of(state.substr(asks), "digest");
    post(daemon.socket(), task + "/decide", R"({"approved":true,"digest":")" + digest + "\"}");
  }
}

int soak(int kills, int plans, std::uint64_t seed) {
  const TempDirectory directory;
  const std::string ledger = directory.path() + "/ledger";
  Random random(seed);
  std::vector<std::string> ids;
  int lives = 0;
  int supervisors = 0;
  std::string why;
  const auto live = [&](auto&& during) {
    DaemonProcess daemon(directory.path(), {"--log", "error"});
    ++lives;
    if (!daemon.running()) {
      why = "the daemon did not start: " + daemon.said();
      return;
    }
    during(daemon);
  };
  const auto start_up_to = [&](const DaemonProcess& daemon, int count) {
    while (static_cast<int>(ids.size()) < count && why.empty()) {
      const std::string text = plan_text(ledger, static_cast<int>(ids.size()), random);
      const http::Response started =
          post(daemon.socket(), "/plans/run", "{\"text\":" + quoted(text) + "}");
      if (started.status != 201) why = started.body;
      ids.push_back(member_of(started.body, "id"));
    }
  };
  for (int i = 0; i < kills && why.empty(); ++i) {
    live([&](DaemonProcess& daemon) {
      // Little by little, so that commands run whenever the daemon is killed.
      start_up_to(daemon, plans * (i + 1) / kills);
      approve_all(daemon);
      std::this_thread::sleep_for(1ms * random.below(300));
      if (random.below(5) == 0) {
        for (const pid_t pid : processes_of(directory.path(), "tiffany-run")) {
          if (random.below(2) == 0 && kill(pid, SIGKILL) == 0) ++supervisors;
        }
      }
      daemon.end(SIGKILL);
    });
  }
  std::map<std::string, int> ended;
  if (why.empty()) {
    live([&](DaemonProcess& daemon) {
      for (const std::string& id : ids) {
        std::string body;
        for (int tries = 0; tries < 600; ++tries) {
          approve_all(daemon);
          const http::Response answer = get(daemon.socket(), "/tasks/" + id + "/result?wait=1s");
          body = answer.body;
          if (answer.status == 200) break;
        }
        ++ended[member_of(body, "status")];
      }
      if (daemon.end(SIGTERM) != 0) why = "the daemon did not end in good order: " + daemon.said();
    });
  }
  const std::map<std::string, int> lines = lines_of(ledger);
  int twice = 0;
  int missing = 0;
  for (int i = 0; i < plans; ++i) {
    const auto count = [&](const char* step) {
      const auto found = lines.find("p" + std::to_string(i) + "." + step);
      return found == lines.end() ? 0 : found->second;
    };
    if (count("once") > 1) ++twice;
    for (const char* step : {"first", "flaps", "last"}) missing += count(step) == 0 ? 1 : 0;
  }
  const std::size_t left = processes_of(directory.path(), "").size();
  const auto disk = wal::system_disk();
  const wal::Verification log = wal::verify(*disk, directory.path() + "/wal");
  std::printf(
      "%d lives, %d supervisors killed, %d plans: %d completed; at most once broken %d times, "
      "steps missing %d, processes left %zu, log %s\n",
      lives, supervisors, plans, ended["completed"], twice, missing, left,
      log.sound() ? "whole" : log.faults.front().c_str());
  if (!why.empty()) std::printf("%s\n", why.c_str());
  const bool good = why.empty() && ended["completed"] == plans && twice == 0 && missing == 0 &&
                    left == 0 && log.sound();
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tiffany::daemon_tests

int main(int count, char** arguments) {
  const int kills = count > 1 ? std::atoi(arguments[1]) : 500;
  const int plans = count > 2 ? std::atoi(arguments[2]) : 200;
  const std::uint64_t seed = count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 1;
  return tiffany::daemon_tests::soak(kills, plans, seed);
}

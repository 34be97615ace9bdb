// What a watcher of a crash campaign knows: every effect that took place outside of the worker, and
// everything that the worker has acknowledged. It outlives each worker, and says what is wrong.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "durable/crash/protocol.hpp"

namespace tiffany::crash {

struct Counted {
  char kind = 0;
  int calls = 0;
  int applied = 0;
  std::set<std::string> keys{};
  std::set<std::string> values{};
};

class Ledger {
 public:
  explicit Ledger(int tasks) : tasks_(tasks) {}

  // The answer, for those messages that have one.
  std::string take(const std::string& message) {
    switch (message.at(0)) {
      case 'I':
      case 'M':
      case 'T':
        return count_effect(message);
      case 'F': {
        const auto found = database_.find(message.substr(2));
        return found != database_.end() ? found->second : "none";
      }
      case 'U':
        unknown.insert(message.substr(2));
        return "noted";
      case 'N':
        reports.insert(message.substr(2));
        return "noted";
      case 'P': {
        const auto words = words_of(message, 3);
        const auto [place, first] = promises.emplace(std::stoi(words[1]), words[2]);
        if (!first && place->second != words[2]) wrong("a second promise: " + message);
        return "noted";
      }
      case 'Q': {
        const auto found = promises.find(std::stoi(message.substr(2)));
        return found != promises.end() ? found->second : "none";
      }
      default:
        take_word(message);
        return "";
    }
  }
  // A worker has begun and says next what it found.
  void begin_life() {
    found_.clear();
    opened = false;
  }

  // When everything has ended.
  void check_effects() {
    for (const auto& [name, effect] : effects) {
      if (effect.keys.size() != 1) wrong("effect " + name + " was asked for with two keys");
      if (effect.values.size() != 1) wrong("effect " + name + " was asked for with two values");
      const bool surfaced = unknown.count(name) > 0;
      if (effect.applied != 1) wrong("effect " + name + " took place " + times(effect.applied));
      if (effect.kind != 'M' && surfaced) wrong("effect " + name + " is said to be unknown");
    }
    if (scheduled != static_cast<int>(reports.size())) {
      wrong("the schedule has started " + std::to_string(scheduled) + " reports, and " +
            std::to_string(reports.size()) + " were sent");
    }
    for (int number = 0; number < tasks_; ++number) {
      if (results.count(number) == 0) wrong("task " + std::to_string(number) + " has not ended");
    }
  }
  void check_against(const Ledger& undisturbed) {
    if (results != undisturbed.results) {
      for (const auto& [number, result] : results) {
        const auto other = undisturbed.results.find(number);
        if (other == undisturbed.results.end() || other->second == result) continue;
        wrong("task " + std::to_string(number) + " gave " + result + " and not " + other->second);
      }
    }
    for (const auto& [name, effect] : undisturbed.effects) {
      if (effects.count(name) > 0 || unknown.count(name) > 0) continue;
      wrong("effect " + name + " never took place");
    }
    for (const auto& [name, effect] : effects) {
      if (undisturbed.effects.count(name) == 0) wrong("effect " + name + " should not be");
    }
  }

  void wrong(std::string what) { complaints.push_back(std::move(what)); }

  std::map<std::string, Counted> effects;
  std::set<std::string> unknown;
  std::map<int, std::string> promises;
  std::set<int> started;
  std::set<std::pair<int, int>> signalled;
  std::set<int> kept;
  std::map<int, std::string> results;
  std::map<std::pair<int, int>, std::string> answers;  // to updates
  std::set<std::string> reports;                       // that runs of the schedule have sent
  int scheduled = -1;                                  // runs, as the schedule counts them
  std::vector<std::string> complaints;
  std::uint64_t acknowledged = 0;
  std::uint64_t repeated = 0;  // effects that were asked for once more, with their key
  bool opened = false;
  bool done = false;

 private:
  static std::string times(int n) { return std::to_string(n) + " times"; }

  std::string count_effect(const std::string& message) {
    const auto words = words_of(message, 4);
    const std::string &name = words.at(1), &key = words.at(2), &value = words.at(3);
    Counted& effect = effects[name];
    effect.kind = message[0];
    effect.keys.insert(key);
    effect.values.insert(value);
    if (++effect.calls > 1) ++repeated;
    // Two effects with one key would be one to the service.
    const auto [owner, first] = owners_.emplace(key, name);
    if (owner->second != name) wrong("effects " + name + " and " + owner->second + " have one key");
    if (message[0] != 'I' || first) ++effect.applied;
    if (message[0] == 'T') database_[key] = value;
    check_order(name);
    return "done";
  }
  // The end of an effect is on the disk before the next one of the same task begins: so nobody may
  // ask for an earlier one again.
  void check_order(const std::string& name) {
    const std::size_t dot = name.find('.');
    const int index = std::stoi(name.substr(dot + 1));
    int& furthest = furthest_[name.substr(0, dot)];
    if (index < furthest) {
      wrong("effect " + name + " was asked for after number " + std::to_string(furthest) +
            ": its end was lost");
    }
    furthest = std::max(furthest, index);
  }

  void take_word(const std::string& message) {
    const auto words = words_of(message, 4);
    if (message[0] == 'W') return wrong(message.substr(2));
    const int number = words.size() > 1 && words[0] != "O" ? std::stoi(words[1]) : 0;
    switch (message[0]) {
      case 'C':
        if (scheduled >= 0 && scheduled != number) wrong("the schedule has counted twice");
        scheduled = number;
        return;
      case 'O':
        opened = true;
        if (words_of(message, 9).at(2) != "0" || words_of(message, 9).at(3) != "0" ||
            words_of(message, 9).at(4) != "0") {
          wrong("not everything was resumed: " + message);
        }
        check_acknowledged();
        return;
      case 'H':
        found_[number] = {words.at(2), words.at(3)};
        return;
      case 'S':
        started.insert(number);
        break;
      case 'G':
        signalled.emplace(number, std::stoi(words.at(2)));
        break;
      case 'K':
        kept.insert(number);
        break;
      case 'V': {
        const auto [place, first] =
            answers.emplace(std::pair(number, std::stoi(words.at(2))), words.at(3));
        if (!first && place->second != words.at(3)) wrong("a second answer: " + message);
        break;
      }
      case 'R': {
        const std::string result = words_of(message, 3).at(2);
        const auto [place, first] = results.emplace(number, result);
        if (!first && place->second != result) wrong("a second result: " + message);
        break;
      }
      case 'D':
        done = true;
        return;
      default:
        wrong("an unknown message: " + message);
        return;
    }
    ++acknowledged;
  }
  void check_acknowledged() {
    for (const int number : started) {
      if (found_.count(number) == 0)
        wrong("task " + std::to_string(number) + " was started, and is gone");
    }
    for (const auto& [number, result] : results) {
      const auto& [status, detail] = found_[number];
      if (status != "completed" || detail != result) {
        wrong("task " + std::to_string(number) + " had given " + result + ", and is now " + status +
              " with " + detail);
      }
    }
  }

  int tasks_;
  std::map<std::string, std::string> database_;
  std::map<std::string, std::string> owners_;
  std::map<std::string, int> furthest_;
  std::map<int, std::pair<std::string, std::string>> found_;
};

}  // namespace tiffany::crash

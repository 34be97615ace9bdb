// What generated programs came to, counted from what they wrote down: a test that never meets the
// rare cases says nothing of them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace model {

class Seen {
 public:
  void look_at(const std::vector<std::string>& lines) {
    std::map<std::string, Begun> begun;  // by task and statement
    for (std::size_t i = 0; i < lines.size(); ++i) {
      // The time, the task, the statement, and what it is or what came of it.
      const std::size_t task = lines[i].find(' ') + 1;
      const std::size_t statement = lines[i].find(' ', task) + 1;
      const std::size_t text = lines[i].find(' ', statement) + 1;
      if (task == 0 || statement == 0 || text == 0) continue;
      const std::string who = lines[i].substr(task, text - task);
      const std::string what = lines[i].substr(text);
      if (what.starts_with("throws ")) {
        ++results[what];
      } else if (!what.starts_with("-> ")) {
        begun[who] = Begun{what.substr(0, what.find_first_of("0123456789")), i};
      } else {
        ++results[what];
        const Begun& its = begun[who];
        if (i > its.line + 1 && what != "-> timed out") ++waited[its.text];
      }
    }
  }

  std::map<std::string, std::size_t> results;  // by what the log says
  // That statements had a result after others had their turn. By their text, up to the first
  // number.
  std::map<std::string, std::size_t> waited;

 private:
  struct Begun {
    std::string text;
    std::size_t line = 0;
  };
};

}  // namespace model

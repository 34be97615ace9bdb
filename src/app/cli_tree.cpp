// tree: tasks below the tasks that started them.
#include <algorithm>
#include <map>
#include <set>

#include "app/cli.hpp"
#include "app/cli_records.hpp"
#include "base/shown_text.hpp"

namespace tiffany::app {
namespace {

using detail::shown;

class Forest {
 public:
  Forest(Cli& cli, const std::vector<Json>& tasks) : cli_(cli), ascii_(cli.given.has("--ascii")) {
    std::set<std::string> known;
    for (const Json& task : tasks) known.insert(task["id"].text());
    for (const Json& task : tasks) {
      const std::string& parent = task["parent"].text();
      if (known.contains(parent)) {
        below_[parent].push_back(task);
      } else {
        roots_.push_back(task);
      }
    }
  }
  const std::vector<Json>& roots() const noexcept { return roots_; }

  // A task, what it waits for, and the tasks below it.
  Task<void> print_below(Json task, std::string indent, std::string branch) {
    // Deeper than this no line is readable, and a log that was tampered with could go on for ever.
    constexpr std::size_t kDeepest = 256;
    const Output& out = cli_.out;
    const std::string id = task["id"].text();
    const std::string& status = task["status"].text();
    std::string line = indent + branch + out.id(id) + " " + shown(task["type"].text()) + "  ";
    line += out.painted(status, paint_of_status(status)) + "  " + out.age(task["began"].text());
    lines_ += line + "\n";
    const std::string inner = indent + (branch.empty() ? "" : branch == last() ? "    " : bar());
    if (inner.size() > kDeepest * 4) co_return;
    std::vector<std::string> waits;
    if (status == "running") {
      const Json whole = co_await cli_.client.get("/tasks/" + id);
      for (const Json& wait : whole["waits"].elements()) {
        if (wait["kind"].text() == "child") continue;  // the child is shown itself
        waits.push_back(wait["kind"].text() + " " + wait["name"].text() + lock_text(wait) +
                        (wait["at"].text().empty() ? "" : "  " + wait["at"].text()));
      }
    }
    const std::vector<Json> children = below_[id];
    for (std::size_t i = 0; i < waits.size(); ++i) {
      const bool final = i + 1 == waits.size() && children.empty();
      lines_ += inner + (final ? last() : middle()) + shown(waits[i]) + "\n";
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
      const std::string to = i + 1 == children.size() ? last() : middle();
      co_await print_below(children[i], inner, to);
    }
  }
  const std::string& lines() const noexcept { return lines_; }

 private:
  std::string last() const { return ascii_ ? "`-- " : "└── "; }
  std::string middle() const { return ascii_ ? "|-- " : "├── "; }
  std::string bar() const { return ascii_ ? "|   " : "│   "; }
  Cli& cli_;
  bool ascii_;
  std::vector<Json> roots_;
  std::map<std::string, std::vector<Json>> below_;
  std::string lines_;
};

}  // namespace

// Tasks of the process that wait for one another in a circle: 11, and the circles are said.
Task<int> find_deadlocks(Cli& cli) {
  const Json found = co_await cli.client.get("/problems");
  int status = ends::kDone;
  for (const Json& each : found["problems"].elements()) {
    if (each["kind"].text() != "deadlock") continue;
    cli.out.complain(each["text"].text());
    status = ends::kDeadlock;
  }
  co_return status;
}

namespace verb {

Task<int> tree(Cli& cli) {
  bool more = false;
  std::vector<Json> tasks = co_await listed_tasks(cli, 10'000, &more);
  std::string root;
  if (cli.given.has("TASK")) {
    const Json task = co_await cli.client.get("/tasks/" + segment_of(cli.given.text("TASK")));
    root = task["id"].text();
    const bool listed =
        std::ranges::any_of(tasks, [&](const Json& each) { return each["id"].text() == root; });
    if (!listed) tasks.push_back(task);
  }
  Forest forest(cli, tasks);
  if (cli.out.json()) {
    cli.out.json_lines(tasks);
  } else if (root.empty()) {
    for (const Json& each : forest.roots()) co_await forest.print_below(each, "", "");
  } else {
    for (const Json& each : tasks) {
      if (each["id"].text() == root) co_await forest.print_below(each, "", "");
    }
  }
  cli.out.raw(forest.lines());
  if (more) cli.out.note("There are more tasks than are shown.");
  co_return co_await find_deadlocks(cli);
}

}  // namespace verb

}  // namespace tiffany::app

// top: tasks and load, live, on the whole screen or as text.
#include <algorithm>
#include <optional>

#include "app/cli.hpp"
#include "app/cli_records.hpp"
#include "app/cli_screen.hpp"
#include "app/settings.hpp"
#include "base/shown_text.hpp"
#include "tiffany/core/sleep.hpp"

namespace tiffany::app {
namespace {

using detail::shown;

struct Picture {
  std::string head;
  std::string second;
  std::vector<Json> tasks;
  std::string problem;  // why there is none
};

Task<Picture> picture_of(Cli& cli) {
  Picture picture;
  const Json info = co_await cli.client.get("/info");
  const Json promises = co_await cli.client.get("/promises?limit=10000");
  const Json problems = co_await cli.client.get("/problems");
  bool more = false;
  picture.tasks = co_await listed_tasks(cli, 500, &more);
  const Json& counts = info["counts"];
  picture.head = shown(info["name"].text()) + " " + shown(info["version"].text()) + "  " +
                 info["phase"].text() + "  up " +
                 short_duration(info["uptime_seconds"].number() * 1'000'000) + "  pid " +
                 info["pid"].text();
  for (const char* name : {"running", "queued", "paused", "diverged", "quarantined", "completed",
                           "failed", "cancelled"}) {
    if (counts[name].number() == 0 && std::string_view(name) != "running") continue;
    picture.second +=
        (picture.second.empty() ? "" : "  ") + std::string(name) + " " + counts[name].text();
  }
  picture.second += "  approvals " + std::to_string(promises["promises"].elements().size()) +
                    "  problems " + std::to_string(problems["problems"].elements().size());
  co_return picture;
}

Duration delay_of(const Cli& cli) {
  const Duration delay = parse_duration(cli.given.text("--delay", "2s"), "--delay");
  return std::max<Duration>(delay, std::chrono::milliseconds(50));
}

std::size_t count_of(const Cli& cli) {
  if (!cli.given.has("--count")) return ~std::size_t{0};
  return static_cast<std::size_t>(number_of(cli.given, "--count", 1));
}

Task<int> top_as_text(Cli& cli) {
  const std::size_t most = cli.given.has("--batch") ? count_of(cli) : 1;
  for (std::size_t i = 0; i < most; ++i) {
    if (i > 0) co_await sleep(delay_of(cli));
    const Picture picture = co_await picture_of(cli);
    cli.out.text(cli.out.cut(picture.head) + "\n" + cli.out.cut(picture.second) + "\n");
    cli.out.raw(task_table(cli.out, picture.tasks) + "\n");
    if (cli.out.finish() != 0 || cli.out.gone()) break;
  }
  co_return ends::kDone;
}

class Top {
 public:
  explicit Top(Cli& cli) : cli_(cli), delay_(delay_of(cli)), most_(count_of(cli)) {}

  Task<int> run() {
    for (std::size_t drawn = 0; drawn < most_;) {
      if (!frozen_) {
        co_await look();
        ++drawn;
      }
      draw();
      const int key = screen_.key(delay_);
      if (key == 'q') break;
      co_await on_key(key);
    }
    co_return ends::kDone;
  }

 private:
  Task<void> look() {
    std::string lost;
    try {
      picture_ = co_await picture_of(cli_);
    } catch (const CliFailure& failure) {
      lost = failure.sentence;
    }
    picture_.problem = lost;
    if (chosen_ >= picture_.tasks.size()) {
      chosen_ = picture_.tasks.empty() ? 0 : picture_.tasks.size() - 1;
    }
  }

  void draw() {
    const Output out = cli_.out.for_screen(screen_.columns());
    std::vector<ScreenLine> lines;
    lines.push_back({out.cut(picture_.head)});
    lines.push_back({out.cut(picture_.second)});
    lines.push_back({out.cut(shown(picture_.problem.empty() ? said_ : picture_.problem)),
                     picture_.problem.empty() ? Paint::notice : Paint::bad});
    const std::size_t fixed = lines.size() + 2;
    const std::size_t room = screen_.rows() > fixed ? screen_.rows() - fixed : 1;
    const std::size_t first = chosen_ >= room ? chosen_ - room + 1 : 0;
    std::string table = task_table(out, picture_.tasks);
    std::size_t row = 0;
    while (!table.empty()) {
      const std::size_t end = std::min(table.find('\n'), table.size());
      if (row == 0) {
        lines.push_back({table.substr(0, end), Paint::faint});
      } else if (row - 1 >= first && row - 1 < first + room) {
        const std::string& status = picture_.tasks[row - 1]["status"].text();
        lines.push_back({table.substr(0, end), paint_of_status(status), row - 1 == chosen_});
      }
      table.erase(0, end + 1);
      ++row;
    }
    while (lines.size() + 1 < screen_.rows()) lines.push_back({});
    lines.push_back({"a approve  c cancel  p pause  r resume  space freeze  q quit", Paint::faint});
    screen_.draw(lines);
  }

  Task<void> on_key(int key) {
    said_.clear();
    if ((key == Screen::kUp || key == 'k') && chosen_ > 0) --chosen_;
    if ((key == Screen::kDown || key == 'j') && chosen_ + 1 < picture_.tasks.size()) ++chosen_;
    if (key == ' ') {
      frozen_ = !frozen_;
      said_ = frozen_ ? "frozen; space goes on" : "";
    }
    if (picture_.tasks.empty()) co_return;
    if (key == 'p') co_await change("pause");
    if (key == 'r') co_await change("resume");
    if (key == 'c' && asked("Cancel")) co_await change("cancel");
    if (key == 'a') co_await approve_chosen();
  }

  std::string chosen_id() const { return picture_.tasks[chosen_]["id"].text(); }
  // Once, naming what it is about.
  bool asked(const std::string& what) {
    said_ = what + " " + picture_.tasks[chosen_]["type"].text() + " " + chosen_id() + "? y/n";
    draw();
    const int key = screen_.key(std::chrono::seconds(30));
    said_ = "nothing was changed";
    return key == 'y';
  }

  Task<void> change(std::string what) {
    try {
      (void)co_await cli_.client.post("/tasks/" + chosen_id() + "/" + what, "{}");
      said_ = what + ": done";
    } catch (const CliFailure& failure) {
      said_ = failure.sentence;
    }
  }

  Task<void> approve_chosen() {
    const std::string id = chosen_id();
    try {
      const Json task = co_await cli_.client.get("/tasks/" + id);
      std::vector<Json> waits;
      for (const Json& wait : task["waits"].elements()) {
        if (wait["kind"].text() == "promise") waits.push_back(wait);
      }
      if (waits.size() != 1) {
        said_ = waits.empty() ? "it waits for no promise" : "several promises wait: use `approve`";
        co_return;
      }
      if (!asked("Approve " + waits[0]["name"].text() + " of")) co_return;
      (void)co_await cli_.client.post("/promises/" + waits[0]["id"].text(), R"({"value":true})");
      said_ = "approved";
    } catch (const CliFailure& failure) {
      said_ = failure.sentence;
    }
  }

  Cli& cli_;
  Duration delay_;
  std::size_t most_;
  Screen screen_;
  Picture picture_;
  std::size_t chosen_ = 0;
  bool frozen_ = false;
  std::string said_;
};

}  // namespace

namespace verb {

Task<int> top(Cli& cli) {
  if (cli.given.has("--batch") || !cli.out.terminal() || !cli.out.asks() || !Screen::available()) {
    co_return co_await top_as_text(cli);
  }
  // What is wrong at the beginning is a sentence, not a screen.
  (void)co_await cli.client.get("/info");
  Top top(cli);
  co_return co_await top.run();
}

}  // namespace verb

}  // namespace tiffany::app

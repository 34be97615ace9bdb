// Commands that find, start and show tasks.
#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "app/cli.hpp"
#include "app/cli_records.hpp"
#include "base/shown_text.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::app {
std::string lock_text(const Json& wait) {
  std::string text;
  if (wait.has("unit")) text += ", for " + wait["unit"].text();
  if (wait.has("holder")) {
    text += "; " + wait["holder_unit"].text() + " of " + wait["holder"].text() + " has it";
  }
  return text;
}

// The library names the task once more, which stands before this text already.
std::string why_ended(const Json& task) {
  const std::string& text = task["detail"].text();
  const std::string again = "Durable task " + task["id"].text() + " was cancelled: ";
  return text.starts_with(again) ? text.substr(again.size()) : text;
}

namespace {

using detail::shown;

std::string wait_text(const Output& out, const Json& wait) {
  std::string text = wait["kind"].text() + " " + wait["name"].text();
  if (wait["running"].truth()) text += ", runs";
  if (wait["attempts"].number() > 1) {
    text += ", attempt " + std::to_string(wait["attempts"].number());
  }
  if (wait.has("due")) text += ", due " + out.moment(wait["due"].text());
  return text + lock_text(wait);
}

std::string outcome_text(const Json& task) {
  return task.has("result") ? result_text(task["result"]) : why_ended(task);
}

// In a list: how it ended, or what somebody has to do.
std::string detail_text(const Json& task) {
  std::string names;
  for (const Json& each : task["asks"].elements()) {
    names += (names.empty() ? "asks " : ", ") + each.text();
  }
  return names.empty() ? outcome_text(task) : names;
}

std::vector<Column> task_columns() {
  return {{"TASK", false}, {"STATUS", false}, {"TYPE", false},      {"AGE", false},
          {"KEY", true},   {"PARENT", true},  {"ATTRIBUTES", true}, {"DETAIL", false}};
}
std::vector<Cell> task_row(const Output& out, const Json& task) {
  const std::string& status = task["status"].text();
  return {out.id(task["id"].text()),
          {status, paint_of_status(status)},
          task["type"].text(),
          out.age(task["began"].text()),
          task["key"].text(),
          task["parent"].text(),
          task["attributes"].raw() == "null" ? "" : task["attributes"].raw(),
          detail_text(task)};
}

// The word as JSON: as it is when it is JSON of the type that is wanted, a string otherwise.
std::string value_of_word(const std::string& word, bool wants_string) {
  try {
    const Json value = Json::parse(word);
    if (!wants_string || value.kind() == JsonKind::string) return value.raw();
  } catch (const Error&) {
    // plain text
  }
  return quoted_json(word);
}

}  // namespace

std::string segment_of(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    }
  }
  return out;
}

Task<std::string> arguments_of(Cli& cli, std::string type) {
  if (cli.given.has("--arguments")) {
    if (!cli.given.all("ARGUMENT").empty()) {
      throw CliFailure{ends::kUsage, "Say the arguments as words or with --arguments, not both."};
    }
    co_return Json::parse(cli.given.text("--arguments")).raw();
  }
  const Json types = co_await cli.client.get("/types");
  const Json* described = nullptr;
  for (const Json& each : types["types"].elements()) {
    if (each["name"].text() == type) described = &each;
  }
  std::string positional;
  std::string named;
  std::size_t place = 0;
  for (const std::string& word : cli.given.all("ARGUMENT")) {
    const std::string name = word.substr(0, word.find('='));
    const Json* argument = nullptr;
    const Json* in_order = nullptr;
    if (described != nullptr) {
      const auto& all = (*described)["arguments"].elements();
      if (place < all.size()) in_order = &all[place];
      for (const Json& each : all) {
        if (name.size() < word.size() && each["name"].text() == name) argument = &each;
      }
    }
    const auto wants_string = [](const Json* of) {
      return of != nullptr && (*of)["schema"]["type"].text() == "string";
    };
    if (argument != nullptr) {
      named += (named.empty() ? "" : ",") + quoted_json(name) + ":" +
               value_of_word(word.substr(name.size() + 1), wants_string(argument));
    } else {
      positional += (positional.empty() ? "" : ",") + value_of_word(word, wants_string(in_order));
      ++place;
    }
  }
  if (!named.empty() && !positional.empty()) {
    throw CliFailure{ends::kUsage, "Some arguments have names and some have none: say all names."};
  }
  co_return named.empty() ? "[" + positional + "]" : "{" + named + "}";
}

void print_types(const Cli& cli, const Json& answer) {
  if (cli.out.json()) return cli.out.json_list(answer, "types");
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : answer["types"].elements()) {
    std::string arguments;
    for (const Json& argument : each["arguments"].elements()) {
      // Where JSON has a word for the type, that; else the name of the type in the program.
      const Json& kind = argument["schema"]["type"];
      const bool plain = kind.kind() == JsonKind::string && kind.text() != "object";
      arguments += (arguments.empty() ? "" : ", ") + argument["name"].text() + ": " +
                   (plain ? kind.text() : argument["type"].text());
    }
    std::string calls;
    for (const Json& call : each["calls"].elements()) {
      calls += (calls.empty() ? "" : ", ") + call["kind"].text() + " " + call["name"].text();
    }
    if (cli.out.format() == Format::name) cli.out.text(shown(each["name"].text()) + "\n");
    rows.push_back({each["name"].text(), arguments, calls});
  }
  if (cli.out.format() == Format::name) return;
  cli.out.table({{"TYPE"}, {"ARGUMENTS"}, {"CALLS"}}, rows);
}

namespace verb {

Task<int> start(Cli& cli) {
  const Given& given = cli.given;
  const std::string type = given.text("TYPE");
  const std::string arguments = co_await arguments_of(cli, type);
  std::string body = "{\"type\":" + quoted_json(type) + ",\"arguments\":" + arguments;
  if (given.has("--id")) body += ",\"id\":" + quoted_json(given.text("--id"));
  if (given.has("--key")) body += ",\"key\":" + quoted_json(given.text("--key"));
  if (given.has("--priority"))
    body += ",\"priority\":" + value_of_word(given.text("--priority"), false);
  if (given.has("--task-timeout")) {
    body += ",\"timeout\":" + quoted_json(given.text("--task-timeout"));
  }
  std::string attributes;
  for (const std::string& each : given.all("--attribute")) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos) {
      throw CliFailure{ends::kUsage, "--attribute is \"" + each + "\": say name=value."};
    }
    attributes += (attributes.empty() ? "" : ",") + quoted_json(each.substr(0, equals)) + ":" +
                  value_of_word(each.substr(equals + 1), false);
  }
  if (!attributes.empty()) body += ",\"attributes\":{" + attributes + "}";
  const Json task = co_await cli.client.post("/tasks", body + "}");
  const std::string id = task["id"].text();
  if (!cli.out.json()) {
    cli.out.text(id + "\n");
  } else if (cli.out.format() == Format::jsonl || !given.has("--wait")) {
    cli.out.json(task);  // with -o json the one text is that of the end
  }
  if (given.has("--watch")) co_return co_await watch_own_task(cli, id);
  if (given.has("--wait")) co_return co_await wait_for_task(cli, id);
  co_return ends::kDone;
}

Task<int> show(Cli& cli) {
  const Json task = co_await cli.client.get("/tasks/" + segment_of(cli.given.text("TASK")));
  if (cli.out.json()) {
    cli.out.json(task);
    co_return ends::kDone;
  }
  if (cli.out.format() == Format::name) {
    cli.out.text(task["id"].text() + "\n");
    co_return ends::kDone;
  }
  const Output& out = cli.out;
  const std::string& status = task["status"].text();
  out.field("task", task["id"].text());
  const std::string& type = task["type"].text();  // none, when the damage took it
  out.field("type", type.empty() ? type : type + " " + task["version"].raw());
  out.field("status", status, paint_of_status(status));
  out.field("began", out.moment(task["began"].text()));
  out.field("key", task["key"].text());
  out.field("parent", task["parent"].text());
  out.field("attributes", task.has("attributes") ? task["attributes"].raw() : "");
  out.field("result", task.has("result") ? task["result"].raw() : "");
  out.field("detail", why_ended(task));
  for (const Json& wait : task["waits"].elements()) {
    std::string text = wait_text(out, wait);
    if (wait.has("id")) text += "  " + out.id(wait["id"].text());
    if (!wait["at"].text().empty()) text += "  at " + wait["at"].text();
    out.field("waits for", text);
  }
  for (const std::string& name : promises_of(task)) {
    out.note("Somebody has to decide about " + name + ": " +
             cli.command("approve " + task["id"].text().substr(0, 8)));
  }
  co_return ends::kDone;
}

Task<int> types(Cli& cli) {
  print_types(cli, co_await cli.client.get("/types"));
  co_return ends::kDone;
}

}  // namespace verb

// ---- Lists ----

// Not in the coroutine: GCC 12 destroys a braced list of strings there twice.
std::vector<std::string> statuses_of(const Given& given) {
  if (given.has("--status")) return given.all("--status");
  if (given.has("--all")) return {""};
  return {"running", "queued", "paused", "diverged", "quarantined"};
}

// Tasks by the options of a command: those that have not ended, unless --all or --status says more.
Task<std::vector<Json>> listed_tasks(Cli& cli, std::size_t limit, bool* more) {
  const Given& given = cli.given;
  std::string query = "/tasks?limit=" + std::to_string(std::min<std::size_t>(limit, 1000));
  for (const char* name : {"type", "key", "attribute"}) {
    const std::string flag = std::string("--") + name;
    if (given.has(flag)) query += "&" + std::string(name) + "=" + segment_of(given.text(flag));
  }
  const std::vector<std::string> statuses = statuses_of(given);
  std::vector<Json> tasks;
  *more = false;
  for (const std::string& status : statuses) {
    const std::string asked = query + (status.empty() ? "" : "&status=" + status);
    std::string after;
    do {
      std::string path = asked;
      if (!after.empty()) path += "&after=" + segment_of(after);
      const Json page = co_await cli.client.get(path);
      for (const Json& each : page["tasks"].elements()) tasks.push_back(each);
      after = page["next"].text();
    } while (!after.empty() && tasks.size() < limit);
    *more = *more || !after.empty();
  }
  std::ranges::sort(tasks, [](const Json& a, const Json& b) {
    return std::tie(a["began"].text(), a["id"].text()) <
           std::tie(b["began"].text(), b["id"].text());
  });
  if (tasks.size() > limit) {
    tasks.resize(limit);
    *more = true;
  }
  co_return tasks;
}

std::string task_table(const Output& out, const std::vector<Json>& tasks) {
  std::vector<std::vector<Cell>> rows;
  for (const Json& task : tasks) rows.push_back(task_row(out, task));
  return out.table_text(task_columns(), rows);
}

std::int64_t number_of(const Given& given, const char* option, std::int64_t least) {
  std::int64_t number = 0;
  const std::string text = given.text(option);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least) {
    throw CliFailure{ends::kUsage, std::string(option) + " is \"" + text +
                                       "\": say a number from " + std::to_string(least) + " on."};
  }
  return number;
}

std::size_t limit_of(const Given& given, std::size_t fallback) {
  if (!given.has("--limit")) return fallback;
  return static_cast<std::size_t>(number_of(given, "--limit", 1));
}

void print_tasks(const Cli& cli, const std::vector<Json>& tasks) {
  if (cli.out.json()) {
    cli.out.json_lines(tasks);
  } else if (cli.out.format() == Format::name) {
    for (const Json& task : tasks) cli.out.text(task["id"].text() + "\n");
  } else {
    cli.out.raw(task_table(cli.out, tasks));
  }
}

namespace verb {

Task<int> ps(Cli& cli) {
  bool more = false;
  const std::vector<Json> tasks = co_await listed_tasks(cli, limit_of(cli.given, 1000), &more);
  print_tasks(cli, tasks);
  if (more) cli.out.note("There are more: --limit says how many to show.");
  co_return ends::kDone;
}

}  // namespace verb

}  // namespace tiffany::app

// Commands about what agents know: skills and notes.
#include <chrono>
#include <string>
#include <vector>

#include "app/cli.hpp"
#include "app/cli_records.hpp"
#include "base/utf8.hpp"

namespace tiffany::app {
namespace {

// The beginning of a text, in one line.
std::string beginning_of(const std::string& text) {
  constexpr std::size_t kLongest = 100;
  const std::string_view line = std::string_view(text).substr(0, text.find('\n'));
  const std::string begin(detail::utf8_prefix(line, kLongest));
  return begin.size() == text.size() ? begin : begin + "...";
}

// Of a request: some questions to an endpoint, each of which may take half a minute.
constexpr Duration kWaitForVectors = std::chrono::minutes(10);

std::string short_task(const std::string& task) { return task.substr(0, 8); }

void print_notes(const Cli& cli, const Json& answer) {
  if (cli.out.json()) {
    cli.out.json_list(answer, "notes");
    return;
  }
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : answer["notes"].elements()) {
    if (cli.out.format() == Format::name) {
      cli.out.text(each["id"].text() + "\n");
      continue;
    }
    const std::vector<Json>& origins = each["origins"].elements();
    rows.push_back({each["id"].text(), each["kind"].text(), cli.out.age(each["made"].text()),
                    origins.empty() ? "" : short_task(origins.front()["task"].text()),
                    beginning_of(each["text"].text())});
  }
  if (cli.out.format() == Format::name) return;
  cli.out.table({{"ID", false, true}, {"KIND"}, {"AGE"}, {"TASK"}, {"TEXT"}}, rows);
}

}  // namespace

namespace verb {

Task<int> skills(Cli& cli) {
  const Json answer = co_await cli.client.get("/skills");
  if (cli.out.json()) {
    cli.out.json_list(answer, "skills");
    co_return ends::kDone;
  }
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : answer["skills"].elements()) {
    if (cli.out.format() == Format::name) {
      cli.out.text(each["name"].text() + "\n");
      continue;
    }
    std::string tools;
    for (const Json& tool : each["tools"].elements()) {
      tools += (tools.empty() ? "" : ",") + tool.text();
    }
    const bool whole = cli.out.format() == Format::wide;
    const std::string digest = each["digest"].text();
    rows.push_back({each["name"].text(), whole ? digest : digest.substr(0, 12), each["used"].text(),
                    tools, each["description"].text()});
  }
  if (cli.out.format() != Format::name) {
    cli.out.table({{"NAME"}, {"DIGEST"}, {"USED"}, {"TOOLS"}, {"DESCRIPTION"}}, rows);
  }
  co_return ends::kDone;
}

Task<int> memory_ls(Cli& cli) {
  const Json answer =
      co_await cli.client.get("/memory?limit=" + std::to_string(limit_of(cli.given, 20)));
  print_notes(cli, answer);
  co_return ends::kDone;
}

Task<int> memory_recall(Cli& cli) {
  std::string words;
  for (const std::string& each : cli.given.all("WORD")) words += (words.empty() ? "" : " ") + each;
  std::string path =
      "/memory?query=" + segment_of(words) + "&limit=" + std::to_string(limit_of(cli.given, 20));
  if (cli.given.has("--depth")) path += "&depth=" + segment_of(cli.given.text("--depth"));
  if (cli.given.has("--kind")) path += "&kind=" + segment_of(cli.given.text("--kind"));
  const Json answer = co_await cli.client.get(path);
  print_notes(cli, answer);
  if (!answer["without_vector"].text().empty()) {
    cli.out.note("The endpoint of embeddings gave no vector: found by words alone.");
  }
  co_return ends::kDone;
}

Task<int> memory_show(Cli& cli) {
  const Json answer = co_await cli.client.get("/memory/" + segment_of(cli.given.text("NOTE")));
  if (cli.out.json()) {
    cli.out.json(answer);
    co_return ends::kDone;
  }
  const Json& note = answer["note"];
  cli.out.field("id", note["id"].text());
  cli.out.field("kind", note["kind"].text());
  cli.out.field("made", cli.out.moment(note["made"].text()));
  cli.out.field("expires", cli.out.moment(note["expires"].text()));
  for (const Json& each : note["origins"].elements()) {
    cli.out.field("from", each["task"].text() + "  " + each["step"].text());
  }
  for (const Json& each : answer["edges"].elements()) {
    const bool out = each["from"].text() == note["id"].text();
    cli.out.field(out ? each["kind"].text() : each["kind"].text() + " by",
                  each[out ? "to" : "from"].text());
  }
  cli.out.text(note["text"].text() + "\n");
  co_return ends::kDone;
}

Task<int> memory_forget(Cli& cli) {
  const std::string id = cli.given.text("NOTE");
  const Json answer = co_await cli.client.remove("/memory/" + segment_of(id));
  if (cli.out.json()) cli.out.json(answer);
  if (!cli.out.json() && !cli.out.quiet()) cli.out.text(id + "  forgotten\n");
  co_return ends::kDone;
}

// Request after request, each of which may fail: what is done stays done.
Task<int> memory_embed(Cli& cli) {
  std::int64_t embedded = 0;
  std::int64_t refused = 0;
  std::string why;
  std::string next = "0";
  Json answer;
  do {
    std::string path = "/memory/embed?after=" + next;
    answer = co_await cli.client.post(std::move(path), "", kWaitForVectors);
    embedded += answer["embedded"].number();
    refused += answer["refused"].number();
    if (why.empty()) why = answer["why"].text();
    next = answer["next"].text();
  } while (next != "0");
  const std::string model = answer["model"].text();
  if (cli.out.json()) {
    cli.out.json(Json::parse("{\"done\":\"embed\",\"model\":" + quoted_json(model) +
                             ",\"embedded\":" + std::to_string(embedded) + ",\"refused\":" +
                             std::to_string(refused) + ",\"left\":" + answer["left"].text() + "}"));
  } else if (!cli.out.quiet()) {
    cli.out.text(std::to_string(embedded) + " notes embedded by " + model + "\n");
  }
  if (refused == 0) co_return ends::kDone;
  cli.out.complain(std::to_string(refused) +
                   " notes were refused, and are found by words alone: " + why);
  co_return ends::kFailed;
}

}  // namespace verb

}  // namespace tiffany::app

// Commands about servers of others whose tools agents have.
#include <string>
#include <vector>

#include "app/cli.hpp"
#include "app/cli_records.hpp"

namespace tiffany::app {
namespace {

void print_changes(const Cli& cli, const Json& found) {
  cli.out.field("server", found["name"].text());
  cli.out.field("place", found["place"].text());
  cli.out.field("kept", found["digest"].text());
  cli.out.field("now", found["now"].text());
  for (const Json& each : found["changes"].elements()) {
    cli.out.text(each["change"].text() + " " + each["tool"].text() + "\n" + each["text"].text());
  }
  if (found["changes"].elements().empty()) cli.out.text("Nothing has changed.\n");
}

}  // namespace

namespace verb {

Task<int> servers_ls(Cli& cli) {
  const Json found = co_await cli.client.get("/servers");
  if (cli.out.json()) {
    cli.out.json_list(found, "servers");
    co_return ends::kDone;
  }
  std::vector<std::vector<Cell>> rows;
  for (const Json& each : found["servers"].elements()) {
    if (cli.out.format() == Format::name) cli.out.text(each["name"].text() + "\n");
    const bool whole = cli.out.format() == Format::wide;
    const std::string digest = each["digest"].text();
    rows.push_back(
        {each["name"].text(), whole ? digest : digest.substr(0, 12), each["place"].text()});
  }
  if (cli.out.format() != Format::name) {
    cli.out.table({{"NAME"}, {"DIGEST"}, {"PLACE"}}, rows);
  }
  co_return ends::kDone;
}

Task<int> servers_show(Cli& cli) {
  const Json found = co_await cli.client.get("/servers/" + segment_of(cli.given.text("SERVER")));
  if (cli.out.json()) {
    cli.out.json(found);
  } else {
    print_changes(cli, found);
  }
  co_return ends::kDone;
}

// What is accepted is what is shown: the digest goes along.
Task<int> servers_accept(Cli& cli) {
  const std::string name = cli.given.text("SERVER");
  std::string digest = cli.given.text("--digest");
  if (digest.empty()) {
    const Json found = co_await cli.client.get("/servers/" + segment_of(name));
    digest = found["now"].text();
    if (!cli.out.json() && !cli.out.quiet()) print_changes(cli, found);
  }
  std::string body;
  JsonWriter out(body);
  out.begin_object();
  out.member("digest", digest);
  out.member("reason", cli.given.text("--message"));
  out.end_object();
  const Json answer =
      co_await cli.client.post("/servers/" + segment_of(name) + "/accept", std::move(body));
  cli.out.done(answer, name + "  accepted");
  co_return ends::kDone;
}

}  // namespace verb

}  // namespace tiffany::app

#include "app/cli.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "app/commands.hpp"
#include "app/daemon.hpp"
#include "app/settings.hpp"
#include "app/small_files.hpp"
#include "app/types_of_logs.hpp"
#include "base/shown_text.hpp"
#include "tiffany/app/command_line.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/engine/run.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany::app {
namespace {

std::string token_in(const std::string& path) {
  constexpr std::size_t kLongest = 4096;
  std::string text;
  try {
    text = read_small_file(path, kLongest).value_or("");
  } catch (const IoError& error) {
    throw CliFailure{ends::kUsage, "The token in " + path + " cannot be read: " + error.what()};
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) {
    text.pop_back();
  }
  if (text.empty()) throw CliFailure{ends::kUsage, "There is no token in " + path + "."};
  return text;
}

Endpoint endpoint_of(const Given& given) {
  Endpoint where;
  if (given.has("--host") && given.has("--socket")) {
    throw CliFailure{ends::kUsage, "Say --socket or --host, not both."};
  }
  if (!given.has("--host")) {
    where.socket = given.has("--socket") ? given.text("--socket") : default_socket();
    return where;
  }
  where.take_url(given.text("--host"));
  where.authority = given.text("--ca");
  const char* const token = std::getenv("TIFFANY_TOKEN");
  if (given.has("--token-file")) {
    where.token = token_in(given.text("--token-file"));
  } else if (token != nullptr) {
    where.token = token;
  }
  return where;
}

Task<void> run_verb(Cli* cli, int* status) {
  std::optional<CliFailure> failed;
  try {
    *status = co_await cli->given.verb->run(*cli);
  } catch (const CliFailure& failure) {
    failed = failure;
  } catch (const Refused& refusal) {
    failed = CliFailure{ends::kUsage, refusal.why};
  } catch (const Error& error) {
    failed = CliFailure{ends::kFailed, error.what()};
  }
  if (!failed) co_return;
  cli->out.complain(failed->sentence);
  *status = failed->status;
}

int run_with_settings(App& app, const Given& given) {
  std::map<std::string, std::string, std::less<>> named;
  for (const Setting& each : all_settings()) {
    if (given.has(each.flag())) named[std::string(each.name)] = given.text(each.flag());
  }
  Settings settings = Settings::read(std::move(named));
  if (given.verb->path == "config") {
    const Output out(app.name(), given);
    out.text(out.json() ? settings.json() + "\n" : settings.table());
    return out.finish();
  }
  return run(serve(app, std::move(settings)));
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Commands that are texts about this program.
std::optional<int> run_text(const App& app, const Given& given) {
  const Output out(app.name(), given);
  const std::string& path = given.verb->path;
  if (path == "help") {
    out.text(help_text(app.name(), joined(given.all("COMMAND")), out.columns()));
  } else if (path == "man") {
    out.text(man_page(app.name(), app.version()));
  } else if (path == "completion") {
    out.text(completion_script(app.name(), given.text("SHELL")));
  } else if (path == "__reference") {
    out.text(reference_page(app.name()));
  } else {
    return std::nullopt;
  }
  return out.finish();
}

int run_given(App& app, Given given, int count, char** words) {
  if (given.help) {
    const Output out(app.name(), given);
    out.text(help_text(app.name(), given.help_of, out.columns()));
    return out.finish();
  }
  const std::string& path = given.verb->path;
  if (path == "serve" || path == "config") return run_with_settings(app, given);
  if (const std::optional<int> status = run_text(app, given)) return *status;
  if (given.verb->run == nullptr) {
    // Those of command_line.hpp, without what stands before them.
    const std::string first = path.substr(0, path.find(' '));
    int skip = 1;
    while (skip < count && words[skip] != first) ++skip;
    words[skip - 1] = words[0];
    const TypesOfLogs own(app.types());
    return durable_main(count - skip + 1, words + skip - 1, app.types(), app.codec());
  }
  Cli cli(app, std::move(given));
  int status = ends::kFailed;
  const int ran = run(run_verb(&cli, &status));
  if (ran != 0) return ran;
  const int written = cli.out.finish();
  return status != 0 ? status : written;
}

}  // namespace

Cli::Cli(App& of, Given what)
    : app(of),
      given(std::move(what)),
      out(app.name(), given),
      client(endpoint_of(given), app.name()) {
  if (given.has("--socket")) at_ = " --socket " + given.text("--socket");
  if (given.has("--host")) at_ = " --host " + given.text("--host");
  if (given.has("--token-file")) at_ += " --token-file " + given.text("--token-file");
}

std::string Cli::answer_to(const std::string& question, const std::string& instead) const {
  if (!out.asks()) throw CliFailure{ends::kApproval, instead};
  std::fflush(stdout);
  std::fprintf(stderr, "%s ", detail::shown(question).c_str());
  std::array<char, 256> line{};
  if (std::fgets(line.data(), static_cast<int>(line.size()), stdin) == nullptr) {
    throw CliFailure{ends::kInterrupted, "No answer came."};
  }
  std::string answer = line.data();
  while (!answer.empty() && (answer.back() == '\n' || answer.back() == ' ')) answer.pop_back();
  return answer;
}

void Cli::confirm(const std::string& question) const {
  if (given.has("--yes")) return;
  const std::string answer =
      answer_to(question + " [y/N]", "There is no terminal to ask on: say --yes.");
  if (answer != "y" && answer != "yes") throw CliFailure{ends::kFailed, "Nothing was changed."};
}

int cli_main(App& app, int count, char** words) {
  if (count < 2) {
    const Output out(app.name(), Given());
    out.text(help_text(app.name(), "", out.columns()));
    return ends::kUsage;
  }
  const std::string_view first = words[1];
  bool help = false;
  for (int i = 1; i < count; ++i) {
    help = help || std::string_view(words[i]) == "-h" || std::string_view(words[i]) == "--help";
  }
  if (!help && (first == "wal" || first == "task" || first == "upgrade" || first == "restore")) {
    const TypesOfLogs own(app.types());
    return durable_main(count, words, app.types(), app.codec());
  }
  int status = ends::kFailed;
  std::string why;
  try {
    Given given = first == "__complete" ? given_of_completion(count, words)
                                        : parse_words(app.name(), count, words);
    return run_given(app, std::move(given), count, words);
  } catch (const Refused& refusal) {
    status = ends::kUsage;
    why = refusal.why + ". `" + app.name() + " help" + (refusal.of.empty() ? "" : " ") +
          refusal.of + "` says what there is.";
  } catch (const CliFailure& failure) {
    status = failure.status;
    why = failure.sentence;
  } catch (const Error& error) {
    status = ends::kUsage;
    why = error.what();
  }
  std::fprintf(stderr, "%s: %s\n", app.name().c_str(), detail::shown(why).c_str());
  return status;
}

}  // namespace tiffany::app

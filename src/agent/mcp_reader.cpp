#include "agent/mcp_reader.hpp"

#include <chrono>
#include <utility>

#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kMostWords = 1000;
constexpr std::int64_t kMostMcpSeconds = 86'400;
constexpr std::int64_t kMostMcpBytes = std::int64_t{64} << 20;

class McpEntryReader {
 public:
  McpEntryReader(ConfigReader& in, const std::string& directory) : in_(in), directory_(directory) {}

  McpEntry all() {
    in_.object(
        {"name", "command", "url", "directory", "env", "secrets", "key", "key_header", "trust",
         "start_s", "idle_s", "deadline_s", "task_s", "most_bytes", "tools", "traits", "pin"},
        [&](const std::string& name) { member(name); });
    check();
    return std::move(entry_);
  }

 private:
  void member(const std::string& name) {
    McpOptions& options = entry_.options;
    if (name == "name") options.name = in_.text();
    if (name == "command") options.command = words();
    if (name == "url") options.url = in_.text();
    if (name == "directory") options.directory = path();
    if (name == "env") {
      in_.members(kMostWords, [&](const std::string& variable) {
        options.environment.emplace_back(variable, in_.text());
      });
    }
    if (name == "secrets") entry_.secrets = words();
    if (name == "key") options.key = key();
    if (name == "key_header") options.key_header = in_.text();
    if (name == "trust") options.trust = path();
    if (name == "start_s") options.start = seconds();
    if (name == "idle_s") options.idle = seconds();
    if (name == "deadline_s") options.deadline = seconds();
    if (name == "task_s") options.task = seconds();
    if (name == "most_bytes") {
      options.most_bytes = static_cast<std::size_t>(in_.integer(1024, kMostMcpBytes));
    }
    if (name == "tools") options.allow = words();
    if (name == "traits") {
      in_.members(kMostWords, [&](const std::string& tool) { options.traits[tool] = traits(); });
    }
    if (name == "pin") options.pin = in_.text();
  }

  std::vector<std::string> words() {
    std::vector<std::string> found;
    in_.array(kMostWords, [&](std::size_t) { found.push_back(in_.text()); });
    if (found.empty()) in_.fail("must have at least one element.");
    return found;
  }
  std::string path() {
    const std::string text = in_.text();
    return text.starts_with('/') ? text : directory_ + text;
  }
  Duration seconds() { return std::chrono::seconds(in_.integer(1, kMostMcpSeconds)); }

  KeySource key() {
    KeySource found;
    in_.object({"file", "env"}, [&](const std::string& name) {
      found = name == "file" ? KeySource::file(path()) : KeySource::environment(in_.text());
    });
    if (found == KeySource()) in_.fail("has neither \"file\" nor \"env\".");
    return found;
  }

  McpTraits traits() {
    McpTraits said;
    in_.object({"effect", "ask", "reads_private", "untrusted", "writes_outside"},
               [&](const std::string& name) {
                 if (name == "effect") {
                   said.effect = in_.text_of({"idempotent", "at_most_once"}) == "idempotent"
                                     ? StepEffect::idempotent
                                     : StepEffect::at_most_once;
                 }
                 if (name == "ask") said.ask = in_.boolean();
                 if (name == "reads_private") said.reads_private = in_.boolean();
                 if (name == "untrusted") said.untrusted = in_.boolean();
                 if (name == "writes_outside") said.writes_outside = in_.boolean();
               });
    return said;
  }

  void check() {
    const McpOptions& options = entry_.options;
    if (options.name.empty()) in_.fail("has no \"name\".");
    if (options.command.empty() == options.url.empty()) {
      in_.fail("needs a \"command\" or a \"url\", and not both.");
    }
    const bool of_a_program =
        !options.directory.empty() || !options.environment.empty() || !entry_.secrets.empty();
    const bool of_a_service = options.key != KeySource() || !options.trust.empty();
    if (!options.url.empty() && of_a_program) {
      in_.fail("has a \"url\", and members that are for a program (directory, env, secrets).");
    }
    if (!options.command.empty() && of_a_service) {
      in_.fail("has a \"command\", and members that are for a service (key, trust).");
    }
  }

  ConfigReader& in_;
  const std::string& directory_;
  McpEntry entry_;
};

}  // namespace

McpEntry read_mcp_entry(ConfigReader& in, const std::string& directory) {
  McpEntry entry = McpEntryReader(in, directory).all();
  return entry;
}

}  // namespace tiffany::agent

#include "app/agents_tools.hpp"

#include <chrono>
#include <optional>

namespace tiffany::app {
namespace {

using agent::ConfigReader;

constexpr std::size_t kMostPaths = 256;
constexpr std::int64_t kLongestRunMs = 604'800'000;
constexpr std::int64_t kMostOutput = std::int64_t{64} << 20;
constexpr std::int64_t kMostFetched = std::int64_t{1} << 20;

}  // namespace

std::string path_from(const std::string& path, const std::string& directory) {
  return path.starts_with('/') ? path : directory + path;
}

std::optional<agent::RunOptions> run_options_in(ConfigReader& in) {
  agent::RunOptions options;
  if (in.kind() == JsonKind::boolean) {
    if (!in.boolean()) return std::nullopt;
    return options;
  }
  in.object({"sandbox", "ask", "effect", "reads", "timeout_ms", "output_bytes"},
            [&](const std::string& name) {
              if (name == "sandbox") options.sandbox = static_cast<int>(in.integer(2, 3));
              if (name == "ask") options.ask = in.boolean();
              if (name == "effect" && in.text_of({"at_most_once", "idempotent"}) == "idempotent") {
                options.effect = agent::ToolEffect::idempotent;
              }
              if (name == "reads") {
                in.array(kMostPaths, [&](std::size_t) { options.reads.push_back(in.text()); });
              }
              if (name == "timeout_ms") options.limits.timeout_ms = in.integer(1, kLongestRunMs);
              if (name == "output_bytes") {
                options.limits.output_bytes =
                    static_cast<std::uint64_t>(in.integer(1024, kMostOutput));
              }
            });
  return options;
}

agent::FetchOptions fetch_options_in(ConfigReader& in, const std::string& directory) {
  agent::FetchOptions options;
  in.object({"hosts", "ask", "trust", "timeout_ms", "most_bytes"}, [&](const std::string& name) {
    if (name == "hosts") {
      in.array(kMostPaths, [&](std::size_t) { options.hosts.push_back(in.text()); });
    }
    if (name == "ask") options.ask = in.boolean();
    if (name == "trust") options.trust = path_from(in.text(), directory);
    if (name == "timeout_ms") {
      options.deadline = std::chrono::milliseconds(in.integer(1, 600'000));
    }
    if (name == "most_bytes") {
      options.most_bytes = static_cast<std::size_t>(in.integer(1024, kMostFetched));
    }
  });
  if (options.hosts.empty()) in.fail("needs `hosts`: those that may be asked.");
  return options;
}

SkillSource skill_source_in(ConfigReader& in, const std::string& directory) {
  SkillSource source;
  if (in.kind() == JsonKind::string) {
    source.path = path_from(in.text(), directory);
    return source;
  }
  in.object({"path", "pin"}, [&](const std::string& name) {
    if (name == "path") source.path = path_from(in.text(), directory);
    if (name == "pin") source.pin = in.text();
  });
  if (source.path.empty()) in.fail("needs a path.");
  return source;
}

}  // namespace tiffany::app

#include "agent/endpoint_reader.hpp"

#include <utility>

#include "tiffany/agent/memory.hpp"

namespace tiffany::agent {

namespace {

constexpr std::int64_t kMostSeconds = 86'400;

// Never the key itself: such a file is read by many, and copied into reports.
KeySource read_key(ConfigReader& in, const std::filesystem::path& directory) {
  if (in.kind() != JsonKind::object) {
    in.fail(
        "must say where the key is: {\"file\": ...} or {\"env\": ...}. The key itself does "
        "not belong into this file.");
  }
  KeySource key;
  in.object({"file", "env"}, [&](std::string_view name) {
    const std::string where = in.text();
    key = name == "file" ? KeySource::file((directory / where).string())
                         : KeySource::environment(where);
  });
  if (key == KeySource()) in.fail("has neither \"file\" nor \"env\".");
  return key;
}

}  // namespace

Duration read_seconds(ConfigReader& in) {
  return std::chrono::seconds(in.integer(1, kMostSeconds));
}

void read_endpoint_member(ConfigReader& in, const std::filesystem::path& directory,
                          std::string_view name, Endpoint& endpoint) {
  if (name == "url") {
    endpoint.url = in.text();
  } else if (name == "model") {
    endpoint.model = in.text();
  } else if (name == "protocol") {
    const std::string word = in.text_of({"chat", "responses"});
    endpoint.protocol = word == "chat" ? Protocol::chat : Protocol::responses;
  } else if (name == "key") {
    endpoint.key = read_key(in, directory);
  } else if (name == "key_header") {
    endpoint.key_header = in.text();
  } else if (name == "limit_member") {
    endpoint.limit_member = in.text();
  } else if (name == "streamed") {
    endpoint.streamed = in.boolean();
  } else if (name == "trust") {
    endpoint.trust = (directory / in.text()).string();
  } else if (name == "most_bytes") {
    endpoint.most_bytes = static_cast<std::size_t>(in.integer(1, std::int64_t{1} << 30));
  } else {
    (name == "first_byte_s" ? endpoint.first_byte
     : name == "idle_s"     ? endpoint.idle
                            : endpoint.deadline) = read_seconds(in);
  }
}

EmbedderSource read_embedder(ConfigReader& in, const std::filesystem::path& directory) {
  EmbedderSource source;
  EmbedderOptions& options = source.options;
  in.object({"url", "model", "key", "key_header", "trust", "first_byte_s", "idle_s", "deadline_s",
             "most_bytes", "dimensions", "failures", "pause_s", "patience_s"},
            [&](std::string_view name) {
              if (name == "dimensions") {
                options.dimensions = static_cast<std::size_t>(
                    in.integer(1, static_cast<std::int64_t>(MemoryLimits::kDimension)));
              } else if (name == "failures") {
                options.failures = static_cast<int>(in.integer(1, 1000));
              } else if (name == "pause_s" || name == "patience_s") {
                (name == "pause_s" ? options.pause : options.patience) = read_seconds(in);
              } else {
                read_endpoint_member(in, directory, name, source.endpoint);
              }
            });
  if (source.endpoint.url.empty()) in.fail("has no \"url\".");
  if (source.endpoint.model.empty()) in.fail("has no \"model\".");
  return source;
}

}  // namespace tiffany::agent

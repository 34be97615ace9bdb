// Endpoints in files of the operator: of models.json, and of `embeddings`.
#pragma once

#include <filesystem>
#include <string_view>

#include "agent/config_reader.hpp"
#include "tiffany/agent/embedder.hpp"
#include "tiffany/agent/http_model.hpp"

namespace tiffany::agent {

// Reads the value of one member. Files are found from that directory.
void read_endpoint_member(ConfigReader& in, const std::filesystem::path& directory,
                          std::string_view name, Endpoint& endpoint);
Duration read_seconds(ConfigReader& in);

class EmbedderSource {
 public:
  EmbedderSource() = default;
  Endpoint endpoint{"", ""};
  EmbedderOptions options{};
};
// An object with `url` and `model`.
EmbedderSource read_embedder(ConfigReader& in, const std::filesystem::path& directory);

}  // namespace tiffany::agent

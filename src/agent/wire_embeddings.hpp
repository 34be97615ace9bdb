// The body of a question for embeddings, and the vectors of its answer.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tiffany::agent::wire {

// The same bytes for the same texts. `dimensions` 0: not said.
std::string embeddings_body(const std::string& model, const std::vector<std::string>& texts,
                            std::size_t dimensions);
// In the order of the texts. Error (bad_json, bad_reply) for what is not one vector for each text,
// all of one dimension, with numbers that are not all zero.
std::vector<std::vector<float>> read_embeddings(std::string_view body, std::size_t texts);

}  // namespace tiffany::agent::wire

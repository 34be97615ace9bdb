// The tools `remember` and `recall`, with which agents use a memory (agent/memory.hpp).
//
//   agent::add_memory_tools(services.tools, std::make_shared<agent::Memory>("state/memory.db"));
//
// What is recalled is text that others wrote, perhaps with private things in it, and is treated as
// such by the policy. A task cannot remember what it has recalled: a note would gain an origin that
// it does not have.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/agent/embedder.hpp"
#include "tiffany/agent/memory.hpp"
#include "tiffany/agent/tool.hpp"

namespace tiffany::agent {

// Calls run on threads (io/offload.hpp). With an embedder notes get vectors, and are found by words
// and by vectors. A call whose text cannot be embedded goes on without: the note is kept and found
// by its words, and the answer says so. The log has the vector of each note (ToolAnswer::kept).
void add_memory_tools(ToolSet& tools, std::shared_ptr<Memory> memory,
                      std::shared_ptr<Embedder> embedder = nullptr);

// What an embedder made of a text.
class Meaning {
 public:
  Meaning() = default;
  std::vector<std::int8_t> vector{};  // empty: there is none
  std::string model{};                // empty: nobody was asked
  std::string missing{};              // why there is none, for those who read the log
};
// Of a long text the beginning counts, and a text without a letter has none. Throws nothing: what
// the embedder throws is `missing`. Cancel: as Embedder::embed().
Task<Meaning> meaning_of(std::shared_ptr<Embedder> embedder, std::string text);

// The parts of a call, which block. What is to be embedded: empty for a call that will fail.
std::string text_of_memory_call(Memory& memory, std::string_view name, const ToolContext& where,
                                const std::string& arguments);
// What the model can mend is an answer that failed. Errors: memory_failed; bad_tool for another
// name than `remember` and `recall`.
ToolAnswer run_memory_tool(Memory& memory, std::string_view name, const ToolContext& where,
                           const std::string& arguments, const Meaning& meaning = Meaning());

}  // namespace tiffany::agent

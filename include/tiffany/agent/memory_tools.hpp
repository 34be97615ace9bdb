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

#include "tiffany/agent/memory.hpp"
#include "tiffany/agent/tool.hpp"

namespace tiffany::agent {

// Calls run on threads (io/offload.hpp).
void add_memory_tools(ToolSet& tools, std::shared_ptr<Memory> memory);

// The same as a function, which blocks. What the model can mend is an answer that failed. Errors:
// memory_failed; bad_tool for another name than `remember` and `recall`.
ToolAnswer run_memory_tool(Memory& memory, std::string_view name, const ToolContext& where,
                           const std::string& arguments);

}  // namespace tiffany::agent

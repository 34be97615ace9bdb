// Agents that give a part of their work to an agent of their own.
//
//   agent::add_delegate_tool(services.tools);
//
// The tool `delegate` (`instruction`, and `turns` or `tokens` at most) starts a child: a durable
// task of the same kind, with the same tools and the same policy. The parent waits for it.
//
// Files: the child goes on with the canvas of its parent, and what it changes is in the parent's
// canvas when it has ended. It commits nothing: its changes are part of the one patch that is
// approved. Budget: it has at most half of what its parent has left, which is reserved meanwhile
// and settled with what the child and its children used. Taint: it has met what its parent has met,
// and afterwards the other way round. Answers for a whole task count for one of both. A child that
// fails is an answer to the parent, and what was reserved for it stays so. Cancel of the parent
// cancels it.
#pragma once

#include "tiffany/agent/tool.hpp"

namespace tiffany::agent {

inline constexpr const char* kDelegate = "delegate";
// An agent that was started by nobody's agent is at depth 0. At this depth nothing is delegated.
inline constexpr int kDeepestAgent = 3;

void add_delegate_tool(ToolSet& tools);

}  // namespace tiffany::agent

// Level 3 of a sandbox: bubblewrap makes the namespaces, and `tiffany-run inside` is the first
// process in them. It starts the command as level 2 does, tells the supervisor how the command
// ended, and ends; then the kernel kills what is left in the namespace.
//
//   supervisor -> bwrap -> tiffany-run inside (process 1 in there) -> the command
#pragma once

#include <string>
#include <vector>

#include "confine.hpp"
#include "files.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {

// What `tiffany-run inside` is told, over a descriptor: nothing of it is in the arguments or the
// environment of bwrap, which is not in a sandbox yet.
struct InnerOrders {
  exec::CommandSpec spec{};
  std::vector<std::string> environment{};
  Reachable reach{};
};
TIFFANY_JSON(InnerOrders, spec, environment, reach);
inline constexpr int kOrdersAt = 3;  // descriptors in there
inline constexpr int kControlAt = 4;

// A call of bwrap that does nothing but make its namespaces.
std::vector<std::string> probe_words(const std::string& bwrap);
std::vector<std::string> bubble_words(const std::string& bwrap, const Reachable& reach);
// A file without a name that holds the orders.
Fd orders_in_memory(const InnerOrders& orders);

// tiffany-run inside.
int inside();

}  // namespace tiffany::supervisor

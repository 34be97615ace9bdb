// Drawings of a plan: for terminals, for Graphviz, and as data.
#pragma once

#include <string>

#include "tiffany/plan/plan.hpp"

namespace tiffany::plan {

// A line for each step, below those it needs, in levels: what stands in one level can run side by
// side.
std::string graph_text(const Plan& plan);
// For dot -Tsvg.
std::string graph_dot(const Plan& plan);
// {"nodes":[{"name":..,"kind":..,"phase":..,"level":..}],"edges":[[from,to],..]}
std::string graph_json(const Plan& plan);

}  // namespace tiffany::plan

#include "tiffany/structure/graph.hpp"

#include <algorithm>
#include <map>

#include "tiffany/core/site.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany {
namespace detail {
namespace {

std::string quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

}  // namespace

void NodeBase::require_ended() const {
  const TaskRecord* const record = task();
  if (record != nullptr && record->settled()) return;
  throw Error(Errc::bad_graph,
              "The result of node " + quoted(name) + ", added at " + site_text(site) +
                  ", was asked for before it " + (record == nullptr ? "was started" : "had ended") +
                  ". A task that uses it must come after it: .after(" + quoted(name) + ").");
}

}  // namespace detail

// The graph by numbers instead of names.
class TaskGraph::Plan {
 public:
  explicit Plan(const TaskGraph& graph) : nodes_(graph.nodes_), above_(nodes_.size()) {
    find_names();
    find_edges();
    if (!problems_.empty()) fail("The task graph cannot be run:" + problems_);
    sort();
  }

  // Every node behind those that it comes after; otherwise in the order they were added.
  const std::vector<std::size_t>& order() const noexcept { return order_; }
  const std::vector<std::size_t>& above(std::size_t node) const noexcept { return above_[node]; }

  // The cost of the longest chain of nodes that come after each.
  std::vector<std::uint64_t> chains() const {
    std::vector<std::uint64_t> chains(nodes_.size(), 0);
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
      const std::uint64_t chain = chains[*node] + nodes_[*node]->cost;
      for (const std::size_t before : above_[*node])
        chains[before] = std::max(chains[before], chain);
    }
    return chains;
  }

 private:
  [[noreturn]] static void fail(const std::string& what) {
    throw Error(Errc::bad_graph, what + "\nNothing has been started.");
  }
  void problem(const detail::NodeBase& node, const std::string& what) {
    problems_ += "\n  node \"" + node.name + "\", added at " + site_text(node.site) + ", " + what;
  }

  void find_names() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      const auto [first, is_new] = by_name_.emplace(nodes_[i]->name, i);
      if (is_new) continue;
      problem(*nodes_[i], "has the name of one added at " + site_text(nodes_[first->second]->site));
    }
  }
  void find_edges() {
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      for (const std::string& name : nodes_[i]->after) {
        const auto found = by_name_.find(name);
        if (found == by_name_.end()) {
          problem(*nodes_[i], "comes after \"" + name + "\", which is not in the graph");
        } else if (found->second == i) {
          problem(*nodes_[i], "comes after itself");
        } else {
          above_[i].push_back(found->second);
        }
      }
    }
  }
  void sort() {
    std::vector<std::vector<std::size_t>> below(nodes_.size());
    std::vector<std::size_t> missing(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      missing[i] = above_[i].size();
      if (missing[i] == 0) order_.push_back(i);
      for (const std::size_t before : above_[i]) below[before].push_back(i);
    }
    for (std::size_t at = 0; at < order_.size(); ++at) {
      for (const std::size_t after : below[order_[at]]) {
        if (--missing[after] == 0) order_.push_back(after);
      }
    }
    if (order_.size() < nodes_.size()) fail_with_circle(missing);
  }
  // Every node that was not sorted comes after another such node: following these leads into a
  // circle.
  [[noreturn]] void fail_with_circle(const std::vector<std::size_t>& missing) const {
    const auto unsorted = [&](std::size_t node) { return missing[node] > 0; };
    std::vector<std::size_t> path;
    std::vector<bool> met(nodes_.size(), false);
    std::size_t at = 0;
    while (!unsorted(at)) ++at;
    while (!met[at]) {
      met[at] = true;
      path.push_back(at);
      at = *std::find_if(above_[at].begin(), above_[at].end(), unsorted);
    }
    std::string text;
    for (auto node = std::find(path.begin(), path.end(), at); node != path.end(); ++node) {
      text += "\"" + nodes_[*node]->name + "\" -> ";
    }
    fail("The task graph cannot be run, because these nodes come after each other in a circle: " +
         text + "\"" + nodes_[at]->name + "\".");
  }

  const std::vector<std::shared_ptr<detail::NodeBase>>& nodes_;
  std::map<std::string_view, std::size_t> by_name_;
  std::vector<std::vector<std::size_t>> above_;
  std::vector<std::size_t> order_;
  std::string problems_;
};

void TaskGraph::validate() const { const Plan plan(*this); }

Task<void> TaskGraph::run() {
  if (ran_) {
    throw Error(Errc::bad_graph,
                "A task graph was run a second time. What its nodes call is gone after the first "
                "run; build the graph again.");
  }
  validate();
  ran_ = true;
  return run_all();
}

Task<void> TaskGraph::run_all() {
  const Plan plan(*this);
  const std::vector<std::uint64_t> chains = plan.chains();
  co_await scope(collect_all, [&](Scope& s) -> Task<void> {
    for (const std::size_t i : plan.order()) {
      detail::NodeBase& node = *nodes_[i];
      DependencyList list;
      for (const std::size_t before : plan.above(i)) list.add(*nodes_[before]->task());
      list.if_failed = node.if_failed;
      list.cost = node.cost;
      list.chain_below = chains[i];
      node.start(s, list);
    }
    co_return;
  });
}

}  // namespace tiffany

// A graph of tasks, described as a whole and run as a whole.
//
//   TaskGraph graph;
//   auto page  = graph.add("page", fetch, url);
//   auto words = graph.add("words", [=]() -> Task<int> { co_return count(page.value()); })
//                    .after("page");
//   co_await graph.run();
//   use(words.value());
//
// Nodes and edges go by name and may be added in any order. run() looks at the whole first: a name
// that is there twice or nowhere, a node that comes after itself, and a circle are errors that say
// where, and nothing has begun by then. For tasks that come to be one by one see spawn.after().
//
// Every node is a task that begins when those it comes after have ended. When one of them did not
// complete, it is skipped, unless if_failed() says otherwise; the others go on. When all have
// ended, failures that nobody has looked at are thrown together, as TasksFailed.
//
// Lifetime: the graph outlives its run; a node may be kept longer, and still gives its result. It
// runs once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/core/dependency.hpp"
#include "tiffany/core/handle.hpp"
#include "tiffany/core/name_at.hpp"
#include "tiffany/engine/spawn.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany {

namespace detail {

class NodeBase {
 public:
  NodeBase(std::string called, std::source_location where) : name(std::move(called)), site(where) {}
  virtual ~NodeBase() = default;
  NodeBase(const NodeBase&) = delete;
  NodeBase& operator=(const NodeBase&) = delete;

  virtual void start(Scope& scope, const DependencyList& list) = 0;
  // Null before it was started.
  virtual TaskRecord* task() const = 0;
  // An error that says what is missing when there is no result yet.
  void require_ended() const;

  std::string name;
  std::source_location site;
  std::vector<std::string> after;
  IfFailed if_failed = IfFailed::skip;
  std::uint32_t cost = 1;
};

template <class T>
class NodeOf : public NodeBase {
 public:
  using NodeBase::NodeBase;
  TaskRecord* task() const override {
    return handle ? static_cast<TaskRecord*>(&handle.waitable()) : nullptr;
  }
  Handle<T> handle;
};

template <class T, class Closure>
class NodeWith final : public NodeOf<T> {
 public:
  NodeWith(std::string called, std::source_location where, Closure&& closure)
      : NodeOf<T>(std::move(called), where), closure_(std::move(closure)) {}
  void start(Scope& scope, const DependencyList& list) override {
    auto& record = scope.scheduler().template make_task_after<SpawnedCoroutine<T, Closure>>(
        list, scope, kDefaultPriority, this->site, std::move(closure_));
    this->handle = Handle<T>::adopt(record);
    record.set_name(this->name);
  }

 private:
  Closure closure_;
};

}  // namespace detail

// One task of a graph. Copyable; all copies are the same node.
template <class T>
class GraphNode {
 public:
  explicit GraphNode(std::shared_ptr<detail::NodeOf<T>> node) noexcept : node_(std::move(node)) {}

  // By name; they need not have been added yet.
  template <class... Names>
  GraphNode& after(const Names&... names) {
    (node_->after.emplace_back(std::string_view(names)), ...);
    return *this;
  }
  GraphNode& if_failed(IfFailed policy) {
    node_->if_failed = policy;
    return *this;
  }
  // How much the task counts in a chain; see longest_path_order().
  GraphNode& cost(std::uint32_t units) {
    node_->cost = units;
    return *this;
  }
  const std::string& name() const noexcept { return node_->name; }

  // The result, or the error of the task thrown: after the run, and during it in the code of tasks
  // that come after this one. Elsewhere it is an error, which names the edge that is missing.
  ValueOf<T> value() const {
    node_->require_ended();
    const Handle<T> handle = node_->handle;
    return value_now(handle);
  }
  // How it ended; never throws the error of the task.
  Outcome<T> outcome() const {
    node_->require_ended();
    return outcome_of(node_->handle, false);
  }

 private:
  std::shared_ptr<detail::NodeOf<T>> node_;
};

class TaskGraph {
 public:
  TaskGraph() noexcept = default;
  TaskGraph(const TaskGraph&) = delete;
  TaskGraph& operator=(const TaskGraph&) = delete;

  // A task that calls f(args...), as spawn does.
  template <class F, class... Args>
  auto add(NameAt name, F&& f, Args&&... args) {
    using Spawned = detail::Spawnable<std::decay_t<F>, std::decay_t<Args>...>;
    if constexpr (Spawned::check()) {
      auto closure = Spawned::closure(std::forward<F>(f), std::forward<Args>(args)...);
      using Closure = decltype(closure);
      using T = detail::ResultOf<Closure>;
      auto node = std::make_shared<detail::NodeWith<T, Closure>>(std::move(name.text), name.at,
                                                                 std::move(closure));
      nodes_.push_back(node);
      return GraphNode<T>(std::move(node));
    }
  }
  std::size_t size() const noexcept { return nodes_.size(); }

  // Throws (Errc::bad_graph) when the graph cannot be run, with everything that is wrong with its
  // names, or else a circle. run() does this first.
  void validate() const;

  // co_await graph.run(): starts every node, and returns when all have ended. Cancel. Before start:
  // nothing is started. While parked: all tasks are cancelled and joined, then Cancelled goes on.
  // After completion: the tasks have ended, and the next suspension throws.
  [[nodiscard("run() does nothing until awaited: co_await graph.run()")]] Task<void> run();

 private:
  class Plan;
  Task<void> run_all();

  std::vector<std::shared_ptr<detail::NodeBase>> nodes_;
  bool ran_ = false;
};

}  // namespace tiffany

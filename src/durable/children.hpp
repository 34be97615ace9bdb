// Children: durable tasks that another one started and awaits. What becomes of them when it ends is
// said where they are spawned (ChildOptions).
#pragma once

#include <unordered_map>
#include <vector>

#include "durable/hosted_task.hpp"
#include "durable/slot.hpp"

namespace tiffany {

// A child of a task that ends.
struct ChildAtEnd {
  Uuid id;
  ParentEnd what = ParentEnd::cancel;
};

class Children {
 public:
  explicit Children(HostCore& host) noexcept : host_(host) {}
  // A parent waits for that child.
  void expect(detail::ChildSlot& child);
  // It does not any more.
  void forget(const Uuid& child) noexcept;
  // A child that its parent has in its log: it is started, unless it has been, and may have ended.
  void adopt(detail::ChildSlot& slot);
  // The child has ended, and its parent is told.
  void ended(const HostedTask& child);
  // Of a parent whose code has ended: those that go on, and that a process before asked for and may
  // not have started.
  void start_abandoned(FlowState& parent);
  // Of a parent that ends. Returns when the child has ended, or as far as it is to be awaited.
  Task<void> end(ChildAtEnd child);
  // Those that have not ended.
  std::vector<ChildAtEnd> of(const HostedTask& parent) const;

 private:
  void start(detail::ChildSlot& slot);

  HostCore& host_;
  std::unordered_map<Uuid, detail::ChildSlot*, UuidHash> expected_;
};

}  // namespace tiffany

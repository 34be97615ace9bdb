#include "app/mcp_subscriptions.hpp"

#include <utility>

#include "app/mcp_message.hpp"
#include "app/mcp_resources.hpp"

namespace tiffany::app {

Task<void> McpSubscriptions::add(std::string uri) {
  if (marks_.contains(uri)) co_return;
  std::string mark = co_await mcp_resource_mark(door_, uri);
  if (marks_.size() >= kMost) {
    throw RpcFailure{rpc::kTooMany, "At most " + std::to_string(kMost) +
                                        " resources are watched at a time: unsubscribe from one."};
  }
  marks_[std::move(uri)] = std::move(mark);
  some_.set();
}

void McpSubscriptions::remove(const std::string& uri) {
  marks_.erase(uri);
  if (marks_.empty()) some_.reset();
}

Task<std::vector<std::string>> McpSubscriptions::changed() {
  co_await some_.wait();
  co_await sleep(kBetweenLooks);
  std::vector<std::string> watched;  // calls beside this one add and remove meanwhile
  for (const auto& each : marks_) watched.push_back(each.first);
  std::vector<std::string> found;
  for (const std::string& uri : watched) {
    const bool other = co_await has_changed(uri);
    if (other) found.push_back(uri);
  }
  co_return found;
}

Task<bool> McpSubscriptions::has_changed(std::string uri) {
  std::string mark;
  try {
    mark = co_await mcp_resource_mark(door_, uri);
  } catch (const RpcFailure&) {
    co_return false;  // the daemon is away, or the task has left its log: nothing to read there
  }
  const auto found = marks_.find(uri);
  if (found == marks_.end() || found->second == mark) co_return false;
  found->second = std::move(mark);
  co_return true;
}

}  // namespace tiffany::app

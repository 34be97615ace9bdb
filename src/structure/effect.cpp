#include "tiffany/structure/effect.hpp"

#include "tiffany/base/error.hpp"

namespace tiffany::detail {
namespace {

const PlainCall kPerform{"perform"};

}  // namespace

ContextNode& handler_for(const ContextKeyBase& effect) {
  Scheduler& scheduler = *Scheduler::current();
  const TaskRecord& task = scheduler.enter_plain(kPerform);
  const Heritage* heritage = task.heritage();
  ContextNode* node =
      heritage != nullptr ? ContextNode::find(heritage->context.get(), effect) : nullptr;
  if (node != nullptr) return *node;
  const std::string name(effect.name());
  throw Error(Errc::no_handler, task.describe() + " performed " + name +
                                    ", and no handler for it is installed here. Install one "
                                    "around it with co_await with_handler<" +
                                    name +
                                    ">(handler, block), or at the spawn with spawn.with_handler<" +
                                    name + ">(handler)(f).");
}

}  // namespace tiffany::detail

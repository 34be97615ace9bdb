#include "tiffany/core/context.hpp"

#include "tiffany/base/error.hpp"
#include "tiffany/core/scheduler.hpp"

namespace tiffany {

void ContextNode::set_outer(Ref<ContextNode> outer) noexcept { outer_ = outer.detach(); }

ContextNode* ContextNode::find(ContextNode* innermost, const ContextKeyBase& key) noexcept {
  ContextNode* node = innermost;
  while (node != nullptr && &node->key_ != &key) node = node->outer_;
  return node;
}

void ContextNode::release() noexcept {
  for (ContextNode* node = this; node != nullptr && --node->refs_ == 0;) {
    ContextNode* outer = node->outer_;
    node->dispose();
    node = outer;
  }
}

ContextBlock::ContextBlock(PushTag, Ref<ContextNode> node) : ContextBlock(replace, node) {
  node->set_outer(outer_);
}

ContextBlock::ContextBlock(ReplaceTag, Ref<ContextNode> context) {
  Scheduler& scheduler = Scheduler::require("A block with a context of its own");
  task_ = scheduler.running();
  spare_ = Ref<Heritage>::adopt(make_in<Heritage>(scheduler.arena()));
  Heritage& own = task_->own_heritage(scheduler.arena());
  outer_ = std::exchange(own.context, std::move(context));
}

ContextBlock::~ContextBlock() {
  Ref<Heritage> present(task_->heritage());
  // In the body `present` is one reference and the task's another; a third is a task that was
  // spawned in the block and goes on with it, so that here only the store is taken over.
  if (!present || present->refs() > 2) {
    if (present) {
      spare_->state = present->state;
      spare_->log = present->log;
    }
    present = spare_;
    task_->set_heritage(spare_);
  }
  std::swap(present->context, outer_);
  if (present->empty()) task_->set_heritage(Ref<Heritage>());
}

namespace detail {

ContextNode* context_of_running(const ContextKeyBase& key, std::string_view what) {
  const Heritage* heritage = Scheduler::require(what).running()->heritage();
  return heritage != nullptr ? ContextNode::find(heritage->context.get(), key) : nullptr;
}

void throw_not_in_context(const ContextKeyBase& key) {
  throw Error(Errc::not_in_context,
              "ask() found no \"" + std::string(key.name()) + "\" in the context of " +
                  Scheduler::current()->running()->describe() +
                  ". Set it around the code that asks, with co_await with(key, value, block), or "
                  "for the whole task, with spawn.with(key, value)(f); or use lookup(), which "
                  "gives null.");
}

}  // namespace detail
}  // namespace tiffany

// Context: values that a task inherits from where it was spawned, by typed key.
//
//   inline constexpr ContextKey<std::string> kUser{"user"};
//
//   const std::string& user = ask(kUser);        an error if nobody set it
//   const std::string* perhaps = lookup(kUser);  null if nobody set it
//
// A value is set for a block, `co_await with(kUser, "ann", [&]() -> Task<void> {...})`, or for a
// new task, `spawn.with(kUser, "ann")(f, x)` (structure/with.hpp). It is never changed: an inner
// value hides an outer one until its block ends, and tasks spawned meanwhile keep what they
// inherited.
//
// Cost: inheriting is the copy of one pointer, whatever the depth. A lookup walks from the
// innermost value outwards.
//
// Lifetime: a value lives until its block and every task that inherited it have ended. The
// reference from ask() holds as long as the asking code stays inside the block where it was set,
// or, for what the task inherited, as long as the task.
//
// Neither function suspends, so a cancel does nothing to them.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "tiffany/base/arena.hpp"
#include "tiffany/base/ref.hpp"

namespace tiffany {

class ContextNode;
class Heritage;
class TaskRecord;

// What does not depend on the type of a key. A key is the object itself, not its name, so it can be
// neither copied nor moved; the name is for error messages.
class ContextKeyBase {
 public:
  constexpr explicit ContextKeyBase(std::string_view name) noexcept : name_(name) {}
  ContextKeyBase(const ContextKeyBase&) = delete;
  ContextKeyBase& operator=(const ContextKeyBase&) = delete;
  constexpr std::string_view name() const noexcept { return name_; }

 private:
  std::string_view name_;
};

template <class T>
class ContextValue;

namespace detail {
// The innermost node of the running task's context for a key, or null. `what` names the caller.
ContextNode* context_of_running(const ContextKeyBase& key, std::string_view what);
[[noreturn]] void throw_not_in_context(const ContextKeyBase& key);
}  // namespace detail

// ask() and lookup() are friends of the key: a call finds them through its argument, and `using
// namespace tiffany` does not bring the names along, so a program can have functions of its own
// that are called so.
template <class T>
class ContextKey : public ContextKeyBase {
 public:
  using value_type = T;
  constexpr explicit ContextKey(std::string_view name) noexcept : ContextKeyBase(name) {}

  friend const T& ask(const ContextKey& key) {
    const ContextNode* node = detail::context_of_running(key, "ask()");
    if (node == nullptr) [[unlikely]]
      detail::throw_not_in_context(key);
    return static_cast<const ContextValue<T>*>(node)->value();
  }
  friend const T* lookup(const ContextKey& key) {
    const ContextNode* node = detail::context_of_running(key, "lookup()");
    return node != nullptr ? &static_cast<const ContextValue<T>*>(node)->value() : nullptr;
  }
};

// One value in a context, with the values around it. Immutable once it is part of a context.
class ContextNode {
 public:
  ContextNode(const ContextNode&) = delete;
  ContextNode& operator=(const ContextNode&) = delete;

  const ContextKeyBase& key() const noexcept { return key_; }
  ContextNode* outer() const noexcept { return outer_; }
  // Puts a new node inside of a context. At most once.
  void set_outer(Ref<ContextNode> outer) noexcept;
  // The innermost node of a key, from this one outwards; null when there is none.
  static ContextNode* find(ContextNode* innermost, const ContextKeyBase& key) noexcept;

  void add_ref() noexcept { ++refs_; }
  void release() noexcept;

 protected:
  explicit ContextNode(const ContextKeyBase& key) noexcept : key_(key) {}
  ~ContextNode() = default;

 private:
  // Destroys the node, but not what is around it, and returns its memory.
  virtual void dispose() noexcept = 0;

  const ContextKeyBase& key_;
  ContextNode* outer_ = nullptr;
  std::uint32_t refs_ = 1;
};

template <class T>
class ContextValue final : public ContextNode {
 public:
  template <class V>
  explicit ContextValue(const ContextKey<T>& key, V&& value)
      : ContextNode(key), value_(std::forward<V>(value)) {}
  const T& value() const noexcept { return value_; }

 private:
  void dispose() noexcept override { unmake(this); }
  const T value_;
};

// Gives the running task another context for as long as this object lives, and then the old one
// back. For those who build blocks out of it; see structure/with.hpp.
class ContextBlock {
 public:
  // A new node, inside of the present context; or a context that takes the place of the present
  // one.
  static struct PushTag {
  } constexpr push{};
  static struct ReplaceTag {
  } constexpr replace{};
  ContextBlock(PushTag, Ref<ContextNode> node);
  ContextBlock(ReplaceTag, Ref<ContextNode> context);
  ~ContextBlock();
  ContextBlock(const ContextBlock&) = delete;
  ContextBlock& operator=(const ContextBlock&) = delete;

 private:
  TaskRecord* task_;
  Ref<ContextNode> outer_;
  Ref<Heritage> spare_;  // so that the way back never needs memory
};

}  // namespace tiffany

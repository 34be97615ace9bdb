// The state of a task: a map from names to values of any type that is copied in O(1).
//
// A trie of sixteen-way nodes over the hashes of the names, as Bagwell described it. Copies share
// their nodes; a write copies the nodes on its way that are shared, and changes the others in
// place. No path is longer than the seventeen nodes that a hash of 64 bits allows, so nothing
// recurses deeply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "tiffany/base/arena.hpp"
#include "tiffany/base/ref.hpp"
#include "tiffany/base/type_name.hpp"

namespace tiffany {

// The type of a value in the state. The object itself is the type; its text is for error messages.
struct StateType {
  std::string_view name;
};
template <class T>
inline constexpr StateType state_type{type_name<T>()};

// A name with its value. Immutable, shared by all states that have it.
class StateEntry {
 public:
  StateEntry(const StateEntry&) = delete;
  StateEntry& operator=(const StateEntry&) = delete;

  std::uint64_t hash() const noexcept { return hash_; }
  const std::string& name() const noexcept { return name_; }
  const StateType& type() const noexcept { return type_; }
  bool is(std::uint64_t hash, std::string_view name) const noexcept {
    return hash_ == hash && name_ == name;
  }

  void add_ref() noexcept { ++refs_; }
  void release() noexcept {
    if (--refs_ == 0) dispose();
  }

 protected:
  StateEntry(std::uint64_t hash, std::string_view name, const StateType& type)
      : hash_(hash), name_(name), type_(type) {}
  ~StateEntry() = default;

 private:
  virtual void dispose() noexcept = 0;

  std::uint64_t hash_;
  std::string name_;
  const StateType& type_;
  std::uint32_t refs_ = 1;
};

template <class T>
class StateValue final : public StateEntry {
 public:
  template <class V>
  StateValue(std::uint64_t hash, std::string_view name, V&& value)
      : StateEntry(hash, name, state_type<T>), value_(std::forward<V>(value)) {}
  const T& value() const noexcept { return value_; }

 private:
  void dispose() noexcept override { unmake(this); }
  const T value_;
};

class StateMap {
 public:
  StateMap() noexcept = default;
  StateMap(const StateMap& other) noexcept : root_(other.root_) { add_ref(root_); }
  StateMap& operator=(StateMap other) noexcept {
    std::swap(root_, other.root_);
    return *this;
  }
  ~StateMap() { release(root_); }

  bool empty() const noexcept { return root_ == 0; }
  // Null when there is none. An entry of another type is an error (Errc::key_type), here and below.
  const StateEntry* find(std::uint64_t hash, std::string_view name, const StateType& type) const;
  // In the place of the entry with the same name, if there is one. When this throws, the map is
  // what it was.
  void put(Arena& arena, Ref<StateEntry> entry);

 private:
  // Nothing, a node, or (marked in the lowest bit) an entry.
  using Slot = std::uintptr_t;
  struct Node;
  static void add_ref(Slot slot) noexcept;
  static void release(Slot slot) noexcept;

  Slot root_ = 0;
};

}  // namespace tiffany

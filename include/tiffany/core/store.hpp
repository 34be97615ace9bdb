// The store: what a task keeps under names (its state) and what it has told (its log).
//
//   inline constexpr StateKey<int> kCount{"count"};
//
//   put(kCount, 3);
//   const int* count = get(kCount);       null if nobody put it
//   tell("counted to 3");
//   std::vector<std::string> all = told();
//
// A task starts from a snapshot of the store of the task that spawned it, and from then on neither
// sees what the other writes. A gather that succeeds appends what each awaited task has told since
// its own snapshot to the log of the task that gathers, in the order of the arguments
// (structure/combine.hpp).
//
// Cost: the snapshot is the copy of one pointer, whatever the size. A first write after it, by
// either, copies a few small nodes.
//
// The functions are plain calls for the running task, of any engine. They never suspend, so a
// cancel does nothing to them; they are counted and traced as the system calls they are.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tiffany/base/arena.hpp"
#include "tiffany/base/hash.hpp"
#include "tiffany/core/state_map.hpp"

namespace tiffany {

namespace detail {
const StateEntry* get_state(std::uint64_t hash, std::string_view name, const StateType& type);
Arena& arena_for_state();
void put_state(Ref<StateEntry> entry);
}  // namespace detail

// A name in the state, and the type of what is kept under it. Keys with equal names are the same
// key; the type must be the same then. The name is only looked at while a function here runs.
//
// get() and put() are friends of the key: a call finds them through its argument, and `using
// namespace tiffany` does not bring the names along, so a program can have functions of its own
// that are called so.
template <class T>
class StateKey {
 public:
  using value_type = T;
  constexpr explicit StateKey(std::string_view name) noexcept
      : name_(name), hash_(hash_name(name)) {}
  constexpr std::string_view name() const noexcept { return name_; }
  constexpr std::uint64_t hash() const noexcept { return hash_; }

  // What the running task has under this key, or null. Valid until the task puts something else
  // there, or ends.
  friend const T* get(const StateKey& key) {
    const StateEntry* entry = detail::get_state(key.hash(), key.name(), state_type<T>);
    return entry != nullptr ? &static_cast<const StateValue<T>*>(entry)->value() : nullptr;
  }

  // In the place of what was there.
  template <class V = T>
  friend void put(const StateKey& key, V&& value) {
    static_assert(std::is_constructible_v<T, V&&>,
                  "put was given a value that this key's type cannot be made of");
    detail::put_state(Ref<StateEntry>::adopt(make_in<StateValue<T>>(
        detail::arena_for_state(), key.hash(), key.name(), std::forward<V>(value))));
  }

 private:
  std::string_view name_;
  std::uint64_t hash_;
};

// Appends an entry to the log of the running task.
void tell(std::string entry);

// The whole log of the running task: what it inherited, then what it has told and gathered.
std::vector<std::string> told();

}  // namespace tiffany

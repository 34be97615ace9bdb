#include "tiffany/core/state_map.hpp"

#include <bit>
#include <cstring>
#include <new>

#include "tiffany/base/error.hpp"

namespace tiffany {
namespace {

constexpr std::uintptr_t kEntryMark = 1;
constexpr unsigned kDigitBits = 4;
// Below this level the hashes have no more digits: a node there is a list of names with one hash.
constexpr unsigned kLevels = 64 / kDigitBits;

unsigned digit(std::uint64_t hash, unsigned level) noexcept {
  return static_cast<unsigned>(hash >> (level * kDigitBits)) & 15u;
}

bool is_entry(std::uintptr_t slot) noexcept { return (slot & kEntryMark) != 0; }
StateEntry* entry_in(std::uintptr_t slot) noexcept {
  return reinterpret_cast<StateEntry*>(slot & ~kEntryMark);
}
std::uintptr_t slot_of(StateEntry* entry) noexcept {
  return reinterpret_cast<std::uintptr_t>(entry) | kEntryMark;
}

[[noreturn]] void throw_key_type(const StateEntry& there, const StateType& asked) {
  throw Error(Errc::key_type,
              "The state has \"" + there.name() + "\" as " + std::string(there.type().name) +
                  ", and it was used as " + std::string(asked.name) +
                  ". Declare its StateKey once and use that everywhere, or give the "
                  "two values different names.");
}

}  // namespace

struct StateMap::Node {
  std::uint32_t refs;
  std::uint32_t count;
  std::uint64_t digits;  // which digits have a slot; the slots are in the order of the digits

  // As many as `count`, behind the node.
  Slot* slots() noexcept { return reinterpret_cast<Slot*>(this + 1); }
  const Slot* slots() const noexcept { return reinterpret_cast<const Slot*>(this + 1); }

  static std::size_t bytes(std::size_t count) noexcept {
    return sizeof(Node) + count * sizeof(Slot);
  }
  static Node* make(Arena& arena, std::uint32_t count, std::uint64_t digits) {
    return new (arena.allocate(bytes(count))) Node{1, count, digits};
  }
  // Without what is in its slots.
  void free_shell() noexcept { Arena::deallocate(this, bytes(count)); }

  // Where the slot for a name is (true), or where it would have to be put.
  bool locate(unsigned level, std::uint64_t hash, std::string_view name,
              std::uint32_t& at) const noexcept {
    if (level < kLevels) {
      const std::uint64_t bit = std::uint64_t{1} << digit(hash, level);
      at = static_cast<std::uint32_t>(std::popcount(digits & (bit - 1)));
      return (digits & bit) != 0;
    }
    for (at = 0; at < count; ++at) {
      if (entry_in(slots()[at])->name() == name) return true;
    }
    return false;
  }
  static std::uint64_t digit_bit(std::uint64_t hash, unsigned level) noexcept {
    return level < kLevels ? std::uint64_t{1} << digit(hash, level) : 0;
  }
};

void StateMap::add_ref(Slot slot) noexcept {
  if (is_entry(slot)) {
    entry_in(slot)->add_ref();
  } else if (slot != 0) {
    ++reinterpret_cast<Node*>(slot)->refs;
  }
}

void StateMap::release(Slot slot) noexcept {
  if (is_entry(slot)) {
    entry_in(slot)->release();
  } else if (slot != 0) {
    Node* node = reinterpret_cast<Node*>(slot);
    if (--node->refs > 0) return;
    for (std::uint32_t i = 0; i < node->count; ++i) release(node->slots()[i]);
    node->free_shell();
  }
}

const StateEntry* StateMap::find(std::uint64_t hash, std::string_view name,
                                 const StateType& type) const {
  Slot slot = root_;
  for (unsigned level = 0; slot != 0 && !is_entry(slot); ++level) {
    const Node* node = reinterpret_cast<Node*>(slot);
    std::uint32_t at;
    slot = node->locate(level, hash, name, at) ? node->slots()[at] : 0;
  }
  if (slot == 0 || !entry_in(slot)->is(hash, name)) return nullptr;
  if (&entry_in(slot)->type() != &type) throw_key_type(*entry_in(slot), type);
  return entry_in(slot);
}

// Every step on the way down leaves a map with the same content, so one may fail.
void StateMap::put(Arena& arena, Ref<StateEntry> entry) {
  const std::uint64_t hash = entry->hash();
  Slot* slot = &root_;
  const auto enter = [&](Slot& place) { place = slot_of(entry.detach()); };
  for (unsigned level = 0;; ++level) {
    if (*slot == 0) return enter(*slot);
    if (is_entry(*slot)) {
      StateEntry* there = entry_in(*slot);
      if (there->is(hash, entry->name())) {
        if (&there->type() != &entry->type()) throw_key_type(*there, entry->type());
        enter(*slot);
        there->release();
        return;
      }
      // The place is taken by another: a node for both, which so far has the one.
      Node* node = Node::make(arena, 1, Node::digit_bit(there->hash(), level));
      node->slots()[0] = *slot;
      *slot = reinterpret_cast<Slot>(node);
    }
    Node* node = reinterpret_cast<Node*>(*slot);
    if (node->refs > 1) {
      Node* copy = Node::make(arena, node->count, node->digits);
      std::memcpy(copy->slots(), node->slots(), node->count * sizeof(Slot));
      for (std::uint32_t i = 0; i < copy->count; ++i) add_ref(copy->slots()[i]);
      --node->refs;
      *slot = reinterpret_cast<Slot>(node = copy);
    }
    std::uint32_t at;
    if (node->locate(level, hash, entry->name(), at)) {
      slot = &node->slots()[at];
      continue;
    }
    Node* wider = Node::make(arena, node->count + 1, node->digits | Node::digit_bit(hash, level));
    std::memcpy(wider->slots(), node->slots(), at * sizeof(Slot));
    enter(wider->slots()[at]);
    std::memcpy(wider->slots() + at + 1, node->slots() + at, (node->count - at) * sizeof(Slot));
    *slot = reinterpret_cast<Slot>(wider);
    node->free_shell();
    return;
  }
}

}  // namespace tiffany

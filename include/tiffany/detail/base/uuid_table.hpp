// Objects that have a UUID, found by it: an open table of their addresses, 9 to 18 bytes for each.
// A std::unordered_map takes 56, which counts where there are a million. Owns nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "tiffany/base/assert.hpp"
#include "tiffany/base/uuid.hpp"

namespace tiffany::detail {

// `id_of(const T&)` gives the UUID, which must not change while the object is here.
template <class T, class IdOf>
class UuidTable {
 public:
  UuidTable() noexcept = default;
  UuidTable(UuidTable&& other) noexcept
      : places_(std::move(other.places_)),
        capacity_(std::exchange(other.capacity_, 0)),
        size_(std::exchange(other.size_, 0)) {}
  UuidTable& operator=(UuidTable&& other) noexcept {
    std::swap(places_, other.places_);
    std::swap(capacity_, other.capacity_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~UuidTable() = default;

  std::size_t size() const noexcept { return size_; }
  // Null: there is none.
  T* find(const Uuid& id) const noexcept {
    if (size_ == 0) return nullptr;
    for (std::size_t at = home(id);; at = next(at)) {
      T* const each = places_[at];
      if (each == nullptr || IdOf()(*each) == id) return each;
    }
  }
  // In no order that means anything.
  template <class F>
  void for_each(const F& visit) const {
    for (std::size_t at = 0; at < capacity_; ++at) {
      if (places_[at] != nullptr) visit(*places_[at]);
    }
  }
  // Another object than all that are here.
  void add(T& object) {
    if (size_ + size_ / 7 >= capacity_) grow();  // seven places of eight are taken at most
    put(object);
    ++size_;
  }
  void erase(const Uuid& id) noexcept {
    if (size_ == 0) return;
    std::size_t at = home(id);
    while (places_[at] != nullptr && IdOf()(*places_[at]) != id) at = next(at);
    if (places_[at] == nullptr) return;
    --size_;
    // Those behind it that could not be where they belong move up, so that no search ends early.
    std::size_t hole = at;
    for (at = next(hole); places_[at] != nullptr; at = next(at)) {
      const std::size_t wanted = home(IdOf()(*places_[at]));
      const std::size_t from_wanted = (at - wanted) & (capacity_ - 1);
      const std::size_t from_hole = (at - hole) & (capacity_ - 1);
      if (from_wanted < from_hole) continue;
      places_[hole] = places_[at];
      hole = at;
    }
    places_[hole] = nullptr;
  }

 private:
  // Ids that count up differ in their last bytes only: every bit of the hash has to reach the low
  // ones (the finalizer of MurmurHash3).
  std::size_t home(const Uuid& id) const noexcept {
    std::uint64_t hash = id.hash();
    hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccdu;
    hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53u;
    return static_cast<std::size_t>(hash ^ (hash >> 33)) & (capacity_ - 1);
  }
  std::size_t next(std::size_t at) const noexcept { return (at + 1) & (capacity_ - 1); }
  void put(T& object) noexcept {
    std::size_t at = home(IdOf()(object));
    while (places_[at] != nullptr) {
      TIFFANY_ASSERT(IdOf()(*places_[at]) != IdOf()(object), "two objects have one UUID");
      at = next(at);
    }
    places_[at] = &object;
  }
  void grow() {
    const std::size_t wanted = capacity_ == 0 ? 16 : capacity_ * 2;
    const auto old = std::exchange(places_, std::make_unique<T*[]>(wanted));
    const std::size_t before = std::exchange(capacity_, wanted);
    for (std::size_t i = 0; i < before; ++i) {
      if (old[i] != nullptr) put(*old[i]);
    }
  }

  std::unique_ptr<T*[]> places_;
  std::size_t capacity_ = 0;  // a power of two
  std::size_t size_ = 0;
};

}  // namespace tiffany::detail

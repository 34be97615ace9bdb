// UUID version 4, drawn from a seeded stream so that a simulated run names things the same way
// twice. What must not be guessed has to come from a stream whose seed is entropy of the World.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tiffany/base/random.hpp"

namespace tiffany {

class Uuid {
 public:
  // All zeros: nil(), the id of nothing.
  constexpr Uuid() noexcept = default;

  static Uuid random(Random& source) noexcept;

  // Accepts the 36-character form, in either case. Anything else gives no value.
  static std::optional<Uuid> parse(std::string_view text) noexcept;

  // For hash tables whose order nobody sees.
  std::uint64_t hash() const noexcept;
  bool nil() const noexcept { return *this == Uuid(); }

  // The same for equal arguments, everywhere and always: names what a task makes (version 8).
  static Uuid derived(const Uuid& from, std::string_view name) noexcept;

  // Lower case, 8-4-4-4-12.
  std::string text() const;

  friend auto operator<=>(const Uuid&, const Uuid&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

struct UuidHash {
  std::size_t operator()(const Uuid& id) const noexcept {
    return static_cast<std::size_t>(id.hash());
  }
};

}  // namespace tiffany

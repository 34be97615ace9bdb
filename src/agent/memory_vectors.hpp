// Vectors of notes in memory, scanned one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tiffany::agent {

class MemoryVectors {
 public:
  struct Near {
    std::int64_t key;
    float cosine;
  };

  void clear(std::size_t dimension) noexcept;
  std::size_t dimension() const noexcept { return dimension_; }
  std::size_t size() const noexcept { return keys_.size() - gone_; }
  // Adds the vector of that key, or replaces it. Those of another dimension are left out.
  void put(std::int64_t key, const std::string& kind, std::int64_t expires_us,
           std::span<const std::int8_t> vector);
  void remove(std::int64_t key);
  // So many were removed that reading all of them again pays.
  bool sparse() const noexcept;
  // The nearest first; of equal ones the older. `kinds` empty: all. Vectors of another dimension
  // than `wanted` are none.
  std::vector<Near> nearest(std::span<const std::int8_t> wanted,
                            const std::vector<std::string>& kinds, std::int64_t now_us,
                            std::size_t most) const;

 private:
  std::optional<std::size_t> place_of(std::int64_t key) const;

  std::size_t dimension_ = 0;
  std::vector<std::int8_t> all_;
  std::vector<std::int64_t> keys_;
  std::vector<std::int64_t> expires_us_;
  std::vector<float> per_length_;  // 1 / length; 0 for the vector of zeros
  std::vector<std::uint32_t> kinds_;
  std::map<std::string, std::uint32_t> numbers_;  // of kinds
  // The first so many keys are in their order, as most come. From the first that is not, all are
  // found here: a place for each of a million would take a tenth of what their vectors take.
  std::size_t in_order_ = 0;
  std::unordered_map<std::int64_t, std::size_t> late_;
  std::size_t gone_ = 0;  // of which the place is still there
};

// The sum of the products; `size` is at most MemoryLimits::kDimension. By the widest instructions
// that the processor has, with the same result.
using DotProduct = std::int32_t (*)(const std::int8_t* a, const std::int8_t* b,
                                    std::size_t size) noexcept;
DotProduct fastest_dot_product() noexcept;
std::int32_t portable_dot_product(const std::int8_t* a, const std::int8_t* b,
                                  std::size_t size) noexcept;

}  // namespace tiffany::agent

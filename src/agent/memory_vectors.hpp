// Vectors of notes in memory, scanned one after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
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
  // Those of another dimension are left out.
  void add(std::int64_t key, const std::string& kind, std::int64_t expires_us,
           std::span<const std::int8_t> vector);
  // The nearest first; of equal ones the older. `kinds` empty: all. Vectors of another dimension
  // than `wanted` are none.
  std::vector<Near> nearest(std::span<const std::int8_t> wanted,
                            const std::vector<std::string>& kinds, std::int64_t now_us,
                            std::size_t most) const;

 private:
  std::size_t dimension_ = 0;
  std::vector<std::int8_t> all_;
  std::vector<std::int64_t> keys_;
  std::vector<std::int64_t> expires_us_;
  std::vector<float> per_length_;  // 1 / length; 0 for the vector of zeros
  std::vector<std::uint32_t> kinds_;
  std::map<std::string, std::uint32_t> numbers_;  // of kinds
};

}  // namespace tiffany::agent

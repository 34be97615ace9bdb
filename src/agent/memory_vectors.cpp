#include "agent/memory_vectors.hpp"

#include <algorithm>
#include <cmath>

#include "tiffany/agent/memory.hpp"

namespace tiffany::agent {
namespace {

// Sums of so many products fit into 32 bits: 4096 * 128 * 128 is 2^26. Blocks of a fixed size, so
// that compilers make vector instructions of the loop also at -O2.
constexpr std::size_t kBlock = 32;

std::int32_t dot_product(const std::int8_t* a, const std::int8_t* b, std::size_t size) noexcept {
  std::int32_t sum = 0;
  std::size_t at = 0;
  for (; at + kBlock <= size; at += kBlock) {
    std::int32_t block = 0;
    for (std::size_t i = 0; i < kBlock; ++i) {
      const auto x = static_cast<std::int16_t>(a[at + i]);
      const auto y = static_cast<std::int16_t>(b[at + i]);
      block += x * y;
    }
    sum += block;
  }
  for (; at < size; ++at) sum += a[at] * b[at];
  return sum;
}

float per_length(std::span<const std::int8_t> vector) noexcept {
  const std::int32_t square = dot_product(vector.data(), vector.data(), vector.size());
  return square == 0 ? 0.0F : 1.0F / std::sqrt(static_cast<float>(square));
}

// Which of two is better: the farthest of those kept is on the top of the heap.
bool nearer(const MemoryVectors::Near& a, const MemoryVectors::Near& b) noexcept {
  return a.cosine != b.cosine ? a.cosine > b.cosine : a.key < b.key;
}

}  // namespace

void MemoryVectors::clear(std::size_t dimension) noexcept {
  dimension_ = dimension;
  all_.clear();
  keys_.clear();
  expires_us_.clear();
  per_length_.clear();
  kinds_.clear();
}

void MemoryVectors::add(std::int64_t key, const std::string& kind, std::int64_t expires_us,
                        std::span<const std::int8_t> vector) {
  if (vector.size() != dimension_ || vector.empty()) return;
  const auto number = numbers_.emplace(kind, static_cast<std::uint32_t>(numbers_.size())).first;
  all_.insert(all_.end(), vector.begin(), vector.end());
  keys_.push_back(key);
  expires_us_.push_back(expires_us);
  per_length_.push_back(per_length(vector));
  kinds_.push_back(number->second);
}

std::vector<MemoryVectors::Near> MemoryVectors::nearest(std::span<const std::int8_t> wanted,
                                                        const std::vector<std::string>& kinds,
                                                        std::int64_t now_us,
                                                        std::size_t most) const {
  std::vector<Near> heap;
  if (wanted.size() != dimension_ || most == 0) return heap;
  std::vector<bool> takes(numbers_.size(), kinds.empty());
  for (const std::string& kind : kinds) {
    if (const auto found = numbers_.find(kind); found != numbers_.end())
      takes[found->second] = true;
  }
  const float length = per_length(wanted);
  heap.reserve(most + 1);
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (expires_us_[i] != 0 && expires_us_[i] <= now_us) continue;
    if (!takes[kinds_[i]]) continue;
    const std::int32_t dot = dot_product(wanted.data(), &all_[i * dimension_], dimension_);
    const Near one{keys_[i], static_cast<float>(dot) * per_length_[i] * length};
    if (heap.size() == most) {
      if (!nearer(one, heap.front())) continue;
      std::pop_heap(heap.begin(), heap.end(), nearer);
      heap.pop_back();
    }
    heap.push_back(one);
    std::push_heap(heap.begin(), heap.end(), nearer);
  }
  std::sort_heap(heap.begin(), heap.end(), nearer);
  return heap;
}

std::vector<std::int8_t> quantized(std::span<const float> vector) {
  float greatest = 0;
  for (const float each : vector) {
    if (std::isfinite(each)) greatest = std::max(greatest, std::fabs(each));
  }
  std::vector<std::int8_t> small;
  small.reserve(vector.size());
  for (const float each : vector) {
    const bool usable = greatest > 0 && std::isfinite(each);
    small.push_back(usable ? static_cast<std::int8_t>(std::lround(each / greatest * 127)) : 0);
  }
  return small;
}

}  // namespace tiffany::agent

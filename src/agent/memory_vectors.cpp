#include "agent/memory_vectors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tiffany/agent/memory.hpp"

namespace tiffany::agent {
namespace {

constexpr std::int64_t kGone = std::numeric_limits<std::int64_t>::min();  // has expired at any time

float per_length(std::span<const std::int8_t> vector) noexcept {
  const std::int32_t square = portable_dot_product(vector.data(), vector.data(), vector.size());
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
  in_order_ = 0;
  late_.clear();
  gone_ = 0;
}

std::optional<std::size_t> MemoryVectors::place_of(std::int64_t key) const {
  if (const auto late = late_.find(key); late != late_.end()) return late->second;
  const auto end = keys_.begin() + static_cast<std::ptrdiff_t>(in_order_);
  const auto found = std::lower_bound(keys_.begin(), end, key);
  if (found == end || *found != key) return std::nullopt;
  return static_cast<std::size_t>(found - keys_.begin());
}

void MemoryVectors::put(std::int64_t key, const std::string& kind, std::int64_t expires_us,
                        std::span<const std::int8_t> vector) {
  if (vector.size() != dimension_ || vector.empty()) return;
  const auto number = numbers_.emplace(kind, static_cast<std::uint32_t>(numbers_.size())).first;
  const std::optional<std::size_t> there = place_of(key);
  if (!there) {
    if (in_order_ == keys_.size() && (keys_.empty() || keys_.back() < key)) {
      ++in_order_;
    } else {
      late_.emplace(key, keys_.size());
    }
    keys_.push_back(key);
    all_.resize(all_.size() + dimension_);
    expires_us_.push_back(0);
    per_length_.push_back(0);
    kinds_.push_back(0);
  } else if (expires_us_[*there] == kGone) {
    --gone_;
  }
  const std::size_t place = there.value_or(keys_.size() - 1);
  std::copy(vector.begin(), vector.end(),
            all_.begin() + static_cast<std::ptrdiff_t>(place * dimension_));
  expires_us_[place] = expires_us;
  per_length_[place] = per_length(vector);
  kinds_[place] = number->second;
}

void MemoryVectors::remove(std::int64_t key) {
  const std::optional<std::size_t> place = place_of(key);
  if (!place || expires_us_[*place] == kGone) return;
  expires_us_[*place] = kGone;
  ++gone_;
}

bool MemoryVectors::sparse() const noexcept {
  constexpr std::size_t kFew = 1000;
  return gone_ > kFew && gone_ > keys_.size() / 4;
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
  const DotProduct dot_product = fastest_dot_product();
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

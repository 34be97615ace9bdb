// The inner loop of a recall by vectors.
#include "agent/memory_vectors.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tiffany::agent {
namespace {

#if defined(__x86_64__)
// Sixteen products at a time: twice as fast as what the compiler makes for every x86-64.
__attribute__((target("avx2"))) std::int32_t avx2_dot_product(const std::int8_t* a,
                                                              const std::int8_t* b,
                                                              std::size_t size) noexcept {
  constexpr std::size_t kStep = 16;
  __m256i sums = _mm256_setzero_si256();
  std::size_t at = 0;
  for (; at + kStep <= size; at += kStep) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + at));
    const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + at));
    const __m256i products = _mm256_madd_epi16(_mm256_cvtepi8_epi16(x), _mm256_cvtepi8_epi16(y));
    sums = _mm256_add_epi32(sums, products);
  }
  const __m128i half =
      _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  const __m128i quarter = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4E));
  const __m128i one = _mm_add_epi32(quarter, _mm_shuffle_epi32(quarter, 0xB1));
  std::int32_t sum = _mm_cvtsi128_si32(one);
  for (; at < size; ++at) sum += a[at] * b[at];
  return sum;
}
#endif

}  // namespace

// Sums of so many products fit into 32 bits: 4096 * 128 * 128 is 2^26. Blocks of a fixed size, so
// that compilers make vector instructions of the loop also at -O2.
std::int32_t portable_dot_product(const std::int8_t* a, const std::int8_t* b,
                                  std::size_t size) noexcept {
  constexpr std::size_t kBlock = 32;
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

DotProduct fastest_dot_product() noexcept {
#if defined(__x86_64__)
  static const bool has_avx2 = __builtin_cpu_supports("avx2") != 0;
  if (has_avx2) return avx2_dot_product;
#endif
  return portable_dot_product;
}

}  // namespace tiffany::agent

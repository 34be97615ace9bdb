// What a primitive shares with its readers: freed when the last of them has let go (base/ref.hpp).
#pragma once

#include <cstdint>

namespace tiffany::detail {

template <class D>
class Shared {
 public:
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  void add_ref() noexcept { ++references_; }
  void release() noexcept {
    if (--references_ == 0) delete static_cast<D*>(this);
  }

 protected:
  Shared() noexcept = default;
  ~Shared() = default;

 private:
  std::uint64_t references_ = 0;
};

}  // namespace tiffany::detail

// A counted reference to an object that counts them itself, with add_ref() and release().
//
// The counts are not atomic: what is counted belongs to one scheduler, and so to one thread. What
// other threads hold is a std::shared_ptr instead.
#pragma once

#include <utility>

namespace tiffany {

template <class W>
class Ref {
 public:
  Ref() noexcept = default;
  // One reference more. Null gives an empty Ref.
  explicit Ref(W* target) noexcept : target_(target) {
    if (target_ != nullptr) target_->add_ref();
  }
  // The reference that the caller has: none is added.
  static Ref adopt(W* target) noexcept {
    Ref ref;
    ref.target_ = target;
    return ref;
  }
  Ref(const Ref& other) noexcept : Ref(other.target_) {}
  Ref(Ref&& other) noexcept : target_(std::exchange(other.target_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(target_, other.target_);
    return *this;
  }
  ~Ref() {
    if (target_ != nullptr) target_->release();
  }

  // Gives the reference to the caller, who has to release it.
  W* detach() noexcept { return std::exchange(target_, nullptr); }
  // Null when empty. The two operators need one that is not empty.
  W* get() const noexcept { return target_; }
  W* operator->() const noexcept { return target_; }
  W& operator*() const noexcept { return *target_; }
  explicit operator bool() const noexcept { return target_ != nullptr; }

 private:
  W* target_ = nullptr;
};

}  // namespace tiffany

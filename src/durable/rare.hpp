// Parts of a durable task that most tasks never have: eight bytes while they are not there. A
// hundred thousand tasks wait at a time, and each has a dozen such parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tiffany::detail {

// As std::optional.
template <class T>
class Rare {
 public:
  Rare() = default;
  Rare& operator=(T value) {
    value_ = std::make_unique<T>(std::move(value));
    return *this;
  }
  Rare& operator=(std::optional<T> value) {
    value_ = value ? std::make_unique<T>(std::move(*value)) : nullptr;
    return *this;
  }
  explicit operator bool() const noexcept { return value_ != nullptr; }
  bool has_value() const noexcept { return value_ != nullptr; }
  T& operator*() noexcept { return *value_; }
  const T& operator*() const noexcept { return *value_; }
  void reset() noexcept { value_.reset(); }
  std::optional<T> copy() const {
    return value_ != nullptr ? std::optional<T>(*value_) : std::nullopt;
  }

 private:
  std::unique_ptr<T> value_;
};

// As std::vector, of which this is one when something was added.
template <class T>
class RareList {
 public:
  bool empty() const noexcept { return all_ == nullptr || all_->empty(); }
  void push_back(T value) { list().push_back(std::move(value)); }
  T& back() noexcept { return all_->back(); }
  T* begin() const noexcept { return all_ != nullptr ? all_->data() : nullptr; }
  T* end() const noexcept { return all_ != nullptr ? all_->data() + all_->size() : nullptr; }
  void erase(const T& value) noexcept {
    if (all_ != nullptr) std::erase(*all_, value);
  }
  template <class F>
  void erase_if(F matches) noexcept {
    if (all_ != nullptr) std::erase_if(*all_, matches);
  }
  void clear() noexcept { all_.reset(); }
  std::vector<T>& list() {
    if (all_ == nullptr) all_ = std::make_unique<std::vector<T>>();
    return *all_;
  }

 private:
  std::unique_ptr<std::vector<T>> all_;
};

}  // namespace tiffany::detail

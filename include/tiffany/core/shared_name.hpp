// A name that many tasks have, as those of one durable type do: each of them holds the name with a
// reference in its record, and no copy of it. For a name that one task has, see Handle::named.
//
// Lifetime: counted. Not thread-safe: the tasks are those of one scheduler.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "tiffany/base/ref.hpp"

namespace tiffany {

class SharedName {
 public:
  static Ref<SharedName> make(std::string text) {
    return Ref<SharedName>::adopt(new SharedName(std::move(text)));
  }
  SharedName(const SharedName&) = delete;
  SharedName& operator=(const SharedName&) = delete;

  const std::string& text() const noexcept { return text_; }
  void add_ref() noexcept { ++refs_; }
  void release() noexcept {
    if (--refs_ == 0) delete this;
  }

 private:
  friend struct DebugLayout;
  explicit SharedName(std::string text) noexcept : text_(std::move(text)) {}
  ~SharedName() = default;

  std::string text_;
  std::uint32_t refs_ = 1;
};

}  // namespace tiffany

// A text that is mostly empty: a word instead of the four of a std::string. For members of what
// there are a million of; everywhere else a std::string is better, as this one allocates for every
// text that is not empty.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace tiffany {

class RareText {
 public:
  RareText() noexcept = default;
  // NOLINTNEXTLINE(google-explicit-constructor): it is a text
  RareText(std::string text) { *this = std::move(text); }
  RareText(const RareText& other) { *this = other.string(); }
  RareText(RareText&&) noexcept = default;
  RareText& operator=(const RareText& other) { return *this = std::string(other.string()); }
  RareText& operator=(RareText&&) noexcept = default;
  RareText& operator=(std::string text) {
    text_ = text.empty() ? nullptr : std::make_unique<std::string>(std::move(text));
    return *this;
  }
  RareText& operator=(const char* text) { return *this = std::string(text); }
  ~RareText() = default;

  bool empty() const noexcept { return text_ == nullptr; }
  void clear() noexcept { text_.reset(); }
  // Cuts off what is behind so many characters.
  void shorten(std::size_t size) noexcept {
    if (size == 0) return clear();
    if (text_ != nullptr && size < text_->size()) text_->resize(size);
  }
  const std::string& string() const noexcept { return text_ != nullptr ? *text_ : nothing(); }
  // NOLINTNEXTLINE(google-explicit-constructor): it is a text
  operator const std::string&() const noexcept { return string(); }
  friend std::string operator+(std::string before, const RareText& text) {
    return std::move(before.append(text.string()));
  }
  friend bool operator==(const RareText& text, std::string_view other) noexcept {
    return text.string() == other;
  }

 private:
  static const std::string& nothing() noexcept {
    static const std::string kNothing;
    return kNothing;
  }
  std::unique_ptr<std::string> text_;
};

}  // namespace tiffany

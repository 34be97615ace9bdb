// The code of a durable task while it runs, whatever it returns: the frame of the outermost
// coroutine. A hundred thousand of them wait at a time, so that no frame is spent on the type.
#pragma once

#include <coroutine>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "tiffany/base/codec.hpp"
#include "tiffany/durable/durable.hpp"

namespace tiffany::detail {

class DurableCode {
 public:
  // Of code that gives JSON.
  // NOLINTNEXTLINE(google-explicit-constructor): a type may be made by hand
  DurableCode(Durable<std::string> code) noexcept
      : frame_(std::move(code).release()), kind_(&kGivesJson) {}
  template <class R>
  static DurableCode of(Durable<R> code) noexcept {
    static constexpr Kind kind{&take_value<R>, nullptr};
    return DurableCode(std::move(code).release(), &kind, nullptr);
  }
  // `kept` goes after the code.
  template <class R, class Kept>
  static DurableCode of(Durable<R> code, std::unique_ptr<Kept> kept) noexcept {
    static constexpr Kind kind{&take_value<R>, [](void* what) { delete static_cast<Kept*>(what); }};
    return DurableCode(std::move(code).release(), &kind, kept.release());
  }
  DurableCode(DurableCode&& other) noexcept
      : frame_(std::exchange(other.frame_, nullptr)),
        kind_(other.kind_),
        kept_(std::exchange(other.kept_, nullptr)) {}
  DurableCode& operator=(DurableCode&&) = delete;
  ~DurableCode() {
    if (frame_ != nullptr) std::coroutine_handle<>::from_address(frame_).destroy();
    if (kept_ != nullptr) kind_->drop(kept_);
  }

  void* frame() const noexcept { return frame_; }
  // The result as JSON, when the code has returned.
  std::string take() const { return kind_->take(frame_); }

 private:
  struct Kind {
    std::string (*take)(void* frame);
    void (*drop)(void* kept);
  };
  DurableCode(void* frame, const Kind* kind, void* kept) noexcept
      : frame_(frame), kind_(kind), kept_(kept) {}

  template <class R>
  static auto& promise_of(void* frame) noexcept {
    using Promise = typename Durable<R>::promise_type;
    return std::coroutine_handle<Promise>::from_address(frame).promise();
  }
  template <class R>
  static std::string take_value(void* frame) {
    if constexpr (std::is_void_v<R>) {
      return "null";
    } else {
      return to_json(promise_of<R>(frame).take());
    }
  }
  static std::string take_json(void* frame) { return promise_of<std::string>(frame).take(); }
  static constexpr Kind kGivesJson{&take_json, nullptr};

  void* frame_;
  const Kind* kind_;
  void* kept_ = nullptr;
};

}  // namespace tiffany::detail

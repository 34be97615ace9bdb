// Which temporaries may stand in an awaited expression, and on which compilers.
//
// GCC 12 copies the members of a brace-initialised aggregate, and the captures of a lambda, bit by
// bit when the temporary stands in the same full expression as a co_await, and destroys both
// copies:
//
//   co_await sender.send(Message{1, text});     a double free, with no warning
//   co_await offload([text] { ... });           the same
//
// No shape of a function protects its caller: the copy is made before the call. So functions that
// are awaited refuse such arguments at compile time, on the compilers with the defect only. What to
// write instead: a variable, moved(variable), a function that builds the object in its own frame
// (sender.emplace(1, text), a factory), or a class with a constructor. docs/compilers.md has it
// all.
#pragma once

#include <string_view>
#include <type_traits>
#include <utility>

#include "tiffany/base/type_name.hpp"

#if defined(__clang__)
#if __clang_major__ < 16
#error "Tiffany needs Clang 16 or later, or GCC 12 or later: see docs/compilers.md"
#endif
#elif defined(__GNUC__) && __GNUC__ < 12
#error "Tiffany needs GCC 12 or later, or Clang 16 or later: see docs/compilers.md"
#endif

// 1 on compilers that destroy such temporaries twice. Define TIFFANY_ALLOW_OWNING_TEMPORARIES to
// switch the refusals off for a whole program.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13 && \
    !defined(TIFFANY_ALLOW_OWNING_TEMPORARIES)
#define TIFFANY_DESTROYS_TWICE 1
#else
#define TIFFANY_DESTROYS_TWICE 0
#endif

namespace tiffany {

// True for a type whose temporaries are never made by braces in an awaited expression:
// `template <> inline constexpr bool tiffany::never_braced<Message> = true;`
template <class T>
inline constexpr bool never_braced = false;

// What std::move is, for arguments of awaited functions: says that the object is a variable and no
// temporary, which a compiler with the defect cannot be asked. `co_await
// sender.send(moved(message))`. The called function moves from the variable before it returns. A
// Moved refers to the variable and cannot be copied, so that nothing keeps it: spawn(f,
// moved(message)) does not compile.
template <class T>
class Moved {
 public:
  using value_type = T;
  explicit Moved(T& from) noexcept : from_(&from) {}
  Moved(const Moved&) = delete;
  Moved& operator=(const Moved&) = delete;
  operator T&&() const noexcept { return get(); }
  T&& get() const noexcept { return static_cast<T&&>(*from_); }

 private:
  T* from_;
};
template <class T>
Moved<T> moved(T& variable) noexcept {
  return Moved<T>(variable);
}

namespace detail {

template <class T>
constexpr bool is_lambda() noexcept {
  return type_name<T>().find("<lambda") != std::string_view::npos && std::is_class_v<T> &&
         !std::is_aggregate_v<T>;
}

// `V`: as a forwarding reference deduces it.
template <class V>
constexpr bool destroyed_twice() noexcept {
#if TIFFANY_DESTROYS_TWICE
  using T = std::remove_cv_t<V>;
  if constexpr (std::is_reference_v<V> || !std::is_class_v<T>) {
    return false;
  } else if constexpr (std::is_trivially_destructible_v<T> || never_braced<T>) {
    return false;
  } else {
    return std::is_aggregate_v<T> || is_lambda<T>();
  }
#else
  return false;
#endif
}

// The same for callables that are awaited as blocks. Wider: a std::function may hide such a lambda.
template <class F>
constexpr bool owns_captures() noexcept {
#if TIFFANY_DESTROYS_TWICE
  return !std::is_lvalue_reference_v<F> &&
         !std::is_trivially_destructible_v<std::remove_reference_t<F>> &&
         !never_braced<std::remove_cvref_t<F>>;
#else
  return false;
#endif
}

template <class T>
inline constexpr bool kIsMoved = false;
template <class T>
inline constexpr bool kIsMoved<Moved<T>> = true;

// The variable behind moved(), as an rvalue; any other argument as it is. For functions that store
// their arguments, or look at the type.
template <class V>
constexpr decltype(auto) unmoved(V&& value) noexcept {
  if constexpr (kIsMoved<std::remove_cvref_t<V>>) {
    return value.get();
  } else {
    return static_cast<V&&>(value);
  }
}
template <class V>
using Unmoved = std::decay_t<decltype(unmoved(std::declval<V>()))>;

// For the arguments of what is awaited.
template <class V>
constexpr void refuse_destroyed_twice() {
  static_assert(
      !destroyed_twice<V>(),
      "GCC 12 destroys an aggregate or a lambda that owns something twice when it is made "
      "in an awaited expression: keep it in a variable and pass that, or moved(variable); "
      "see docs/compilers.md");
}

}  // namespace detail

}  // namespace tiffany

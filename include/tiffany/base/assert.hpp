// TIFFANY_ASSERT: an invariant of the library that is checked in debug and sanitizer builds.
//
//   TIFFANY_ASSERT(told_ <= synced_, "a waiter was told of a record that is not on the disk");
//
// For what only a defect of Tiffany itself can break. What a program, an operator or a file can get
// wrong is an Error (base/error.hpp), in every build.
//
// When the condition is false, the process prints the sentence, the condition and its place to
// standard error, and aborts. With NDEBUG the condition is compiled and not evaluated: it has to
// be free of side effects, and costs nothing.
#pragma once

namespace tiffany::detail {

[[noreturn]] void assertion_failed(const char* condition, const char* sentence, const char* file,
                                   int line) noexcept;

}  // namespace tiffany::detail

#ifdef NDEBUG
#define TIFFANY_ASSERT(condition, sentence) static_cast<void>(sizeof((condition) ? 1 : 0))
#else
#define TIFFANY_ASSERT(condition, sentence) \
  ((condition) ? static_cast<void>(0)       \
               : ::tiffany::detail::assertion_failed(#condition, sentence, __FILE__, __LINE__))
#endif

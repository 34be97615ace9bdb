// Names for the addresses of a native stack.
#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "tiffany/base/hex.hpp"
#include "tiffany/detail/world/thread_probe.hpp"

#if defined(TIFFANY_LIBBACKTRACE)
#include <backtrace.h>
#endif

namespace tiffany::detail {
namespace {

constexpr std::string_view kLoop = "tiffany::detail::Loop::";

std::string demangled(const char* name) {
  int status = 0;
  char* const text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string out = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return out;
}

// From the table of exported symbols, which most programs do not have for their own functions.
std::string exported_place(const void* address) {
  std::string out = "0x";
  append_hex(out, reinterpret_cast<std::uintptr_t>(address), 12);
  Dl_info found = {};
  if (dladdr(address, &found) == 0) return out;
  if (found.dli_sname != nullptr) return demangled(found.dli_sname);
  const std::string_view file = found.dli_fname != nullptr ? found.dli_fname : "";
  const auto offset =
      reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(found.dli_fbase);
  out = std::string(file.substr(file.rfind('/') + 1)) + "+0x";
  append_hex(out, offset, 8);
  return out;
}

#if defined(TIFFANY_LIBBACKTRACE)

struct Places {
  std::string text;
  bool any = false;
};

void no_error(void*, const char*, int) {}

int on_place(void* context, std::uintptr_t, const char* file, int line, const char* function) {
  auto& places = *static_cast<Places*>(context);
  if (function == nullptr && file == nullptr) return 0;
  places.any = true;
  places.text += "\n      in " + (function != nullptr ? demangled(function) : "a function");
  if (file != nullptr) {
    const std::string_view path = file;
    places.text +=
        " at " + std::string(path.substr(path.rfind('/') + 1)) + ":" + std::to_string(line);
  }
  return 0;
}

void on_symbol(void* context, std::uintptr_t, const char* name, std::uintptr_t, std::uintptr_t) {
  auto& places = *static_cast<Places*>(context);
  if (name == nullptr) return;
  places.any = true;
  places.text += "\n      in " + demangled(name);
}

// Kept: what it has read of the program is never freed.
backtrace_state* debug_information() {
  static backtrace_state* const state = backtrace_create_state(nullptr, 1, &no_error, nullptr);
  return state;
}

bool append_place(std::string& out, std::uintptr_t address) {
  backtrace_state* const state = debug_information();
  if (state == nullptr) return false;
  Places places;
  backtrace_pcinfo(state, address, &on_place, &no_error, &places);
  if (!places.any) backtrace_syminfo(state, address, &on_symbol, &no_error, &places);
  out += places.text;
  return places.any;
}

#else

bool append_place(std::string&, std::uintptr_t) { return false; }

#endif

}  // namespace

std::string native_stack_text(std::span<void* const> stack) {
  static std::mutex lock;  // two watchdogs may ask at a time
  const std::lock_guard held(lock);
  std::string out;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const std::size_t before = out.size();
    const auto address = reinterpret_cast<std::uintptr_t>(stack[i]);
    // The first is where the thread was interrupted, the others are behind a call.
    if (!append_place(out, i == 0 ? address : address - 1)) {
      out += "\n      in " + exported_place(stack[i]);
    }
    // What is further out is the loop of the scheduler, and who called it.
    if (std::string_view(out).substr(before).find(kLoop) != std::string_view::npos) {
      if (before > 0) out.resize(before);
      break;
    }
  }
  return out;
}

}  // namespace tiffany::detail

#include "tiffany/base/error.hpp"

namespace tiffany {

std::string_view name_of(Errc code) noexcept {
  switch (code) {
#define X(name, number, text) \
  case Errc::name:            \
    return #name;
    TIFFANY_ERRORS(X)
#undef X
  }
  return "unknown";
}

const char* meaning(Errc code) noexcept {
  switch (code) {
#define X(name, number, text) \
  case Errc::name:            \
    return text;
    TIFFANY_ERRORS(X)
#undef X
  }
  return "not an error of Tiffany";
}

std::string error_text(const std::exception_ptr& error) {
  if (error == nullptr) return "no error";
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

}  // namespace tiffany

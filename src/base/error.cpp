#include "tiffany/base/error.hpp"

namespace tiffany {

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

}  // namespace tiffany

#include "tiffany/core/external.hpp"

namespace tiffany {

bool ExternalLine::claim() noexcept {
  if (!claimed_.exchange(true)) return true;
  ignored_.fetch_add(1);
  return false;
}

namespace detail {

void throw_unknown_promise(const Uuid& uuid, const char* why) {
  throw Error(Errc::unknown_promise, "No external promise with the UUID " + uuid.text() + " " +
                                         why +
                                         ". It was completed, its scheduler has ended, or the UUID "
                                         "belongs to another one.");
}

}  // namespace detail
}  // namespace tiffany

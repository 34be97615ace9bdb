#include "tiffany/sync/broadcast.hpp"

#include "tiffany/base/error.hpp"

namespace tiffany::detail {

void throw_broadcast_closed() {
  throw Error(Errc::channel_closed,
              "A value was sent into a broadcast that was closed, so no receiver could get it. Ask "
              "closed() first, or let this error end the one who sends.");
}

void throw_broadcast_of_none() {
  throw Error(Errc::bad_argument,
              "A broadcast was made that keeps no values, so no receiver could ever get one. Let "
              "it keep at least one, and as many as a receiver may lag behind.");
}

}  // namespace tiffany::detail

// In place of uring.cpp where the library was built without liburing.
#include "tiffany/world/system_reactor.hpp"
#include "world/backend.hpp"

namespace tiffany {

std::unique_ptr<world::Backend> world::make_uring() { return nullptr; }
bool uring_works() noexcept { return false; }

}  // namespace tiffany

// In place of uring.cpp where the library was built without liburing.
#include "io/backend.hpp"
#include "tiffany/io/system_reactor.hpp"

namespace tiffany {

std::unique_ptr<io::Backend> io::make_uring() { return nullptr; }
bool uring_works() noexcept { return false; }

}  // namespace tiffany

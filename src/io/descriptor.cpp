#include "tiffany/io/descriptor.hpp"

#include <atomic>
#include <cerrno>

#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/pressure.hpp"
#include "tiffany/io/wait.hpp"

namespace tiffany {
namespace {

std::uint32_t next_incarnation() noexcept {
  static std::atomic<std::uint32_t> last{0};
  std::uint32_t next = 0;
  while (next == 0) next = last.fetch_add(1, std::memory_order_relaxed) + 1;  // 0 has a meaning
  return next;
}

}  // namespace

Descriptor::Descriptor(int fd) noexcept
    : fd_(fd), incarnation_(next_incarnation()), world_(&World::current()) {}

void Descriptor::close() noexcept {
  if (fd_ < 0) return;
  if (Scheduler* scheduler = Scheduler::current()) scheduler->reactor().closing(fd_);
  if (pressure_ != nullptr) Pressure::closing(pressure_, incarnation_);
  const int fd = std::exchange(fd_, -1);
  world_->files().close(fd);
}

void announce_close(int fd) noexcept {
  Scheduler* const scheduler = Scheduler::current();
  if (fd >= 0 && scheduler != nullptr) scheduler->reactor().closing(fd);
}

Descriptor take_descriptor(int fd, std::string_view what, std::string_view on) {
  if (fd < 0) throw_io_error(what, on);
  Descriptor made(fd);
  made.made_here_ = true;
  return made;
}

}  // namespace tiffany

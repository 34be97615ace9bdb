#include "tiffany/world/memory_world.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "world/memory/files.hpp"
#include "world/memory/processes.hpp"
#include "world/memory/sockets.hpp"
#include "world/memory/state.hpp"

namespace tiffany {

using world::memory::MemoryReactor;
using world::memory::State;

MemoryWorld::MemoryWorld(MemoryWorldOptions options)
    : state_(std::make_unique<State>(std::move(options))) {
  state_->world = this;
}
MemoryWorld::~MemoryWorld() = default;

std::unique_ptr<Reactor> MemoryWorld::reactor() { return std::make_unique<MemoryReactor>(*state_); }

void MemoryWorld::add_host(std::string name, std::string_view ip) {
  state_->hosts[std::move(name)].emplace_back(ip);
}
void MemoryWorld::raise(int signal) { state_->processes->raise(signal); }
void MemoryWorld::lose_unsynced() { state_->files->lose_unsynced(); }
std::size_t MemoryWorld::open_descriptors() const noexcept { return state_->open_descriptors(); }

std::optional<std::int64_t> MemoryWorld::wall_clock_us() noexcept {
  return state_->wall_clock_us +
         std::chrono::duration_cast<std::chrono::microseconds>(state_->now.time_since_epoch())
             .count();
}
void MemoryWorld::pause(Duration length) noexcept { state_->now += length; }
bool MemoryWorld::entropy(void* memory, std::size_t size) {
  auto* to = static_cast<unsigned char*>(memory);
  while (size > 0) {
    const std::uint64_t drawn = state_->entropy.next();
    const std::size_t some = std::min(size, sizeof drawn);
    std::memcpy(to, &drawn, some);
    to += some;
    size -= some;
  }
  return true;
}
int MemoryWorld::process_id() noexcept { return state_->process_id; }
std::uint32_t MemoryWorld::user_id() noexcept { return 0; }
WorldFiles& MemoryWorld::files() noexcept { return *state_->files; }
WorldSockets& MemoryWorld::sockets() noexcept { return *state_->sockets; }
WorldProcesses& MemoryWorld::processes() noexcept { return *state_->processes; }

}  // namespace tiffany

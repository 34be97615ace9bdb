// What the operating system answers at once.
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>

#include "tiffany/base/error.hpp"
#include "world/os_world.hpp"

namespace tiffany {
namespace {

class OsWorld : public World {
 public:
  std::optional<std::int64_t> wall_clock_us() noexcept override {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  }
  bool entropy(void* memory, std::size_t size) override {
    auto* to = static_cast<unsigned char*>(memory);
    while (size > 0) {
      const ssize_t got = getrandom(to, size, 0);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw Error(Errc::io_failed, "The operating system gives no random numbers.");
      to += got;
      size -= static_cast<std::size_t>(got);
    }
    return true;
  }
  void pause(Duration length) noexcept override {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(length);
    const timespec time{seconds.count(), (length - seconds).count()};
    nanosleep(&time, nullptr);
  }
  int process_id() noexcept override { return getpid(); }
  std::uint32_t user_id() noexcept override { return geteuid(); }
  WorldFiles& files() noexcept override { return world::os_files(); }
  WorldSockets& sockets() noexcept override { return world::os_sockets(); }
  WorldProcesses& processes() noexcept override { return world::os_processes(); }
};

class RepeatableWorld final : public OsWorld {
 public:
  std::optional<std::int64_t> wall_clock_us() noexcept override { return std::nullopt; }
  bool entropy(void*, std::size_t) override { return false; }
};

}  // namespace

// Never destroyed: objects with static lifetime may ask at the end of the program.
World& os_world() noexcept {
  static auto* const world = new OsWorld;
  return *world;
}
World& repeatable_world() noexcept {
  static auto* const world = new RepeatableWorld;
  return *world;
}

}  // namespace tiffany

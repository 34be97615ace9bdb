// A World in memory: sockets, pipes, files, clocks, entropy and threads for a test or a simulation,
// in virtual time. Nothing in it reaches the operating system, and two runs with one seed are the
// same, byte for byte. To test a program against a real kernel use system_reactor() instead.
//
//   MemoryWorld world;
//   Scheduler scheduler(Options().clock(world.reactor()));
//   scheduler.spawn(server);       // Listener::bind, accept, open_file ... as on a real machine
//   scheduler.spawn(client);
//   scheduler.run();
//
// What is made in a task belongs to the world of its scheduler. A program in which every task waits
// for a socket that nobody writes to is a Deadlock at once: nothing can come from outside.
//
// What there is: stream sockets and datagrams (IPv4, IPv6, unix), pipes, files, directories, locks,
// names of hosts (add_host), signals (raise), offload(). Bytes are delivered when they are written.
// What there is not: processes, terminals, watches of files and links, which fail with ENOSYS.
//
// Lifetime: the world outlives its reactors and descriptors. Thread safety: none. All schedulers of
// one world are on one thread; step() and poll() let several of them take turns.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tiffany/core/reactor.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany {

namespace world::memory {
class State;
}

class MemoryWorldOptions {
 public:
  MemoryWorldOptions() noexcept = default;
  // Draws what a program must bear: a read gives a part of what is there, an operation that could
  // end at once ends in a later turn, and operations that are over at the same time are delivered
  // in any order (those on one descriptor stay in theirs). Without a seed none of that happens.
  MemoryWorldOptions&& seed(std::uint64_t value) && noexcept {
    seed_ = value;
    return std::move(*this);
  }
  // The wall clock at the beginning of virtual time; after that it goes with the virtual time.
  MemoryWorldOptions&& wall_clock_us(std::int64_t value) && noexcept {
    wall_clock_us_ = value;
    return std::move(*this);
  }
  MemoryWorldOptions&& process_id(int value) && noexcept {
    process_id_ = value;
    return std::move(*this);
  }
  // How many bytes a socket or pipe holds until they are read.
  MemoryWorldOptions&& buffer(std::size_t bytes) && noexcept {
    buffer_ = bytes > 0 ? bytes : 1;
    return std::move(*this);
  }

 private:
  friend class world::memory::State;
  std::optional<std::uint64_t> seed_;
  std::int64_t wall_clock_us_ = 1'577'836'800'000'000;  // 2020-01-01, UTC
  int process_id_ = 1;
  std::size_t buffer_ = 65536;
};

class MemoryWorld final : public World {
 public:
  explicit MemoryWorld(MemoryWorldOptions options = MemoryWorldOptions());
  ~MemoryWorld() override;
  MemoryWorld(const MemoryWorld&) = delete;
  MemoryWorld& operator=(const MemoryWorld&) = delete;

  // For Options::clock(). All reactors of a world have one clock.
  std::unique_ptr<Reactor> reactor();

  // A name that resolve() finds. "localhost" is there.
  void add_host(std::string name, std::string_view ip);
  // Every Signals of this world that waits for that signal gets one.
  void raise(int signal);
  // The machine loses power: what was not synced is lost from its files. Names of files stay.
  void lose_unsynced();
  std::size_t open_descriptors() const noexcept;

  std::optional<std::int64_t> wall_clock_us() noexcept override;
  void pause(Duration length) noexcept override;          // moves the virtual time
  bool entropy(void* memory, std::size_t size) override;  // by the seed; the same in every run
  int process_id() noexcept override;
  std::uint32_t user_id() noexcept override;
  WorldFiles& files() noexcept override;
  WorldSockets& sockets() noexcept override;
  WorldProcesses& processes() noexcept override;

 private:
  std::unique_ptr<world::memory::State> state_;
};

}  // namespace tiffany

// Landlock: which files a process and its children may open, by rules on directories. Constants and
// calls of our own, because the headers of a distribution are older than the kernels it runs on.
#pragma once

#include <cstdint>
#include <string>

#include "files.hpp"

namespace tiffany::supervisor {

// What the kernel can do, from 1 on; zero: it has no Landlock, or it is switched off. Tests lower
// it by the variable TIFFANY_TEST_LANDLOCK_ABI of this program, which commands do not get.
int landlock_abi() noexcept;

inline constexpr int kAbiWithTruncate = 3;
inline constexpr int kAbiWithScopes = 6;  // signals, abstract unix sockets

enum class Reach {
  read,             // and execute
  write,            // everything but making devices
  device,           // reading and writing a device, without its ioctls
  private_devices,  // a /dev that nobody else has
};

// Rules for a process that is not there yet: made here, entered there.
class Ruleset {
 public:
  // Without `network`: no TCP either way, where the kernel can refuse it here.
  Ruleset(int abi, bool network);
  int fd() const noexcept { return fd_.get(); }
  // A file or a directory with what is below it. False: it cannot be opened (errno).
  bool allow(const std::string& path, Reach reach) const;
  // The same for what is open already.
  void allow(const Fd& object, Reach reach, const std::string& path) const;

 private:
  std::uint64_t rights(Reach reach, bool directory) const noexcept;
  std::uint64_t handled_ = 0;
  Fd fd_;
};

// For the child of vfork: neither of them allocates. False: errno says why.
bool allow_own_proc(int ruleset) noexcept;
bool enter_landlock(int ruleset) noexcept;

}  // namespace tiffany::supervisor

#include "landlock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

namespace tiffany::supervisor {
namespace {

constexpr long kCreateRuleset = 444;  // the same on every architecture
constexpr long kAddRule = 445;
constexpr long kRestrictSelf = 446;

constexpr std::uint64_t bit(int number) noexcept { return std::uint64_t{1} << number; }
constexpr std::uint64_t kExecute = bit(0);
constexpr std::uint64_t kWriteFile = bit(1);
constexpr std::uint64_t kReadFile = bit(2);
constexpr std::uint64_t kReadDirectory = bit(3);
constexpr std::uint64_t kMakeDevices = bit(6) | bit(11);
constexpr std::uint64_t kFirst = bit(13) - 1;    // everything that the first version had
constexpr std::uint64_t kRefer = bit(13);        // version 2
constexpr std::uint64_t kTruncate = bit(14);     // 3
constexpr std::uint64_t kDeviceIoctl = bit(15);  // 5
constexpr std::uint64_t kResolveUnix = bit(16);  // 9
constexpr std::uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kResolveUnix;
constexpr std::uint64_t kTcp = bit(0) | bit(1);     // version 4: bind, connect
constexpr std::uint64_t kScopes = bit(0) | bit(1);  // 6: abstract unix sockets, signals

struct Attributes {
  std::uint64_t files = 0;
  std::uint64_t network = 0;
  std::uint64_t scoped = 0;
};
struct [[gnu::packed]] PathBeneath {
  std::uint64_t allowed;
  std::int32_t parent;
};
constexpr int kPathBeneath = 1;
constexpr unsigned kVersion = 1;

int add_rule(int ruleset, int object, std::uint64_t allowed) noexcept {
  const PathBeneath rule{allowed, object};
  return static_cast<int>(syscall(kAddRule, ruleset, kPathBeneath, &rule, 0U));
}

}  // namespace

int landlock_abi() noexcept {
  const long abi = syscall(kCreateRuleset, nullptr, std::size_t{0}, kVersion);
  if (abi < 0) return 0;
  const char* const older = std::getenv("TIFFANY_TEST_LANDLOCK_ABI");
  return older == nullptr
             ? static_cast<int>(abi)
             : std::min(static_cast<int>(abi), static_cast<int>(std::strtol(older, nullptr, 10)));
}

Ruleset::Ruleset(int abi, bool network) {
  Attributes all;
  all.files = kFirst;
  if (abi >= 2) all.files |= kRefer;
  if (abi >= kAbiWithTruncate) all.files |= kTruncate;
  if (abi >= 4 && !network) all.network = kTcp;
  if (abi >= 5) all.files |= kDeviceIoctl;
  if (abi >= kAbiWithScopes) all.scoped = kScopes;
  if (abi >= 9) all.files |= kResolveUnix;
  handled_ = all.files;
  // An older kernel knows fewer members.
  const std::size_t size = abi >= kAbiWithScopes ? 24 : abi >= 4 ? 16 : 8;
  fd_ = Fd(static_cast<int>(syscall(kCreateRuleset, &all, size, 0U)));
  if (fd_.get() < 0) refuse("make", "a ruleset of Landlock");
  fcntl(fd_.get(), F_SETFD, FD_CLOEXEC);
}

std::uint64_t Ruleset::rights(Reach reach, bool directory) const noexcept {
  std::uint64_t wanted = kExecute | kReadFile | kReadDirectory;
  if (reach == Reach::device) wanted = kReadFile | kWriteFile;
  // No devices: with them a superuser would reach everything.
  if (reach == Reach::write) wanted = ~(kMakeDevices | kDeviceIoctl);
  if (reach == Reach::private_devices) wanted = ~kMakeDevices;
  if (!directory) wanted &= kOfFiles;
  return wanted & handled_;
}

bool Ruleset::allow(const std::string& path, Reach reach) const {
  const Fd object(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (object.get() < 0) return false;
  allow(object, reach, path);
  return true;
}

void Ruleset::allow(const Fd& object, Reach reach, const std::string& path) const {
  struct stat about{};
  if (fstat(object.get(), &about) != 0) refuse("look at", path);
  if (add_rule(fd(), object.get(), rights(reach, S_ISDIR(about.st_mode))) != 0) {
    refuse("make a rule of Landlock for", path);
  }
}

bool allow_own_proc(int ruleset) noexcept {
  const int own = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return errno == ENOENT;  // there is no /proc
  const bool done = add_rule(ruleset, own, kReadFile | kReadDirectory) == 0;
  close(own);
  return done;
}

bool enter_landlock(int ruleset) noexcept { return syscall(kRestrictSelf, ruleset, 0U) == 0; }

}  // namespace tiffany::supervisor

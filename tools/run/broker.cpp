#include "broker.hpp"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "numbers.hpp"
#include "processes.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::supervisor {

struct Broker::Call {
  std::uint64_t id = 0;
  pid_t process = 0;  // or a thread of it
  int number = 0;
  std::array<std::uint64_t, 6> arguments{};

  int as_int(int which) const noexcept {
    return static_cast<int>(arguments[static_cast<std::size_t>(which)]);
  }
};
struct Broker::Answer {
  int error = 0;
  bool go_on = false;  // the kernel carries the call out
};

namespace {

constexpr std::size_t kLongestValue =
    std::size_t{64} * 1024;  // of an extended attribute: XATTR_SIZE_MAX

// Memory of the caller. It may change while it is read: only what came here counts.
bool read_from(pid_t process, std::uint64_t address, void* to, std::size_t size) noexcept {
  const iovec here{to, size};
  const iovec there{reinterpret_cast<void*>(address), size};
  return process_vm_readv(process, &here, 1, &there, 1, 0) == static_cast<ssize_t>(size);
}

// Up to a zero byte; page by page, because what is behind the text may not be there.
std::optional<std::string> text_from(pid_t process, std::uint64_t address, std::size_t most) {
  constexpr std::uint64_t kPage = 4096;
  std::string text;
  std::array<char, kPage> room;
  while (text.size() < most) {
    const std::size_t part = kPage - (address + text.size()) % kPage;
    if (!read_from(process, address + text.size(), room.data(), part)) return std::nullopt;
    const std::size_t end = std::string_view(room.data(), part).find('\0');
    if (end != std::string_view::npos) return text.append(room.data(), end);
    text.append(room.data(), part);
  }
  errno = ENAMETOOLONG;
  return std::nullopt;
}

std::string proc_of(pid_t process, const std::string& what) {
  return "/proc/" + std::to_string(process) + "/" + what;
}

struct Place {
  int directory = AT_FDCWD;  // a number of the caller
  std::uint64_t path = 0;    // zero: the descriptor itself
  bool follow = true;
  bool may_be_empty = false;  // an empty path: the descriptor itself
};

// Which file a call is about; every call has it at its own place.
std::optional<Place> place_of(int number, const std::array<std::uint64_t, 6>& all) {
  const auto descriptor = static_cast<int>(all[0]);
  const auto flagged = [&](std::uint64_t flags) {
    return Place{descriptor, all[1], (flags & AT_SYMLINK_NOFOLLOW) == 0,
                 (flags & AT_EMPTY_PATH) != 0};
  };
  if (number == kChmod || number == kChown || number == kUtime || number == kUtimes) {
    return Place{AT_FDCWD, all[0], true};
  }
  if (number == kLchown) return Place{AT_FDCWD, all[0], false};
  if (number == kFutimesat) return Place{descriptor, all[1], true};
  switch (number) {
    case SYS_setxattr:
    case SYS_removexattr:
    case SYS_truncate:
      return Place{AT_FDCWD, all[0], true};
    case SYS_lsetxattr:
    case SYS_lremovexattr:
      return Place{AT_FDCWD, all[0], false};
    case SYS_fchmod:
    case SYS_fchown:
    case SYS_fsetxattr:
    case SYS_fremovexattr:
      return Place{descriptor, 0, true};
    case SYS_fchmodat:
      return Place{descriptor, all[1], true};
    case SYS_utimensat:
    case kFchmodat2:
      return flagged(all[3]);
    case SYS_fchownat:
      return flagged(all[4]);
    default:
      return std::nullopt;
  }
}

// The file itself, which no rename or link can exchange any more.
Fd find(pid_t process, const Place& place) {
  std::string path;
  if (place.path != 0) {
    const std::optional<std::string> text = text_from(process, place.path, PATH_MAX);
    if (!text) return Fd();
    path = *text;
    if (path.empty() && !place.may_be_empty) {
      errno = ENOENT;
      return Fd();
    }
    // What the caller means by "self" is not what it is here.
    for (const std::string_view self : {"/proc/self/", "/proc/thread-self/"}) {
      if (path.starts_with(self)) path = proc_of(process, path.substr(self.size()));
    }
  }
  const int flags = O_PATH | O_CLOEXEC | (place.follow ? 0 : O_NOFOLLOW);
  if (path.starts_with('/')) return Fd(open(path.c_str(), flags));
  const std::string at = place.directory == AT_FDCWD
                             ? proc_of(process, "cwd")
                             : proc_of(process, "fd/" + std::to_string(place.directory));
  Fd base(open(at.c_str(), O_PATH | O_CLOEXEC));
  if (base.get() < 0 && errno == ENOENT) errno = EBADF;
  if (base.get() < 0 || path.empty()) return base;
  return Fd(openat(base.get(), path.c_str(), flags));
}

// No attribute but the user's own: a program with `security.capability` would lend rights.
int change_attribute(const std::string& link, pid_t process, bool set,
                     const std::array<std::uint64_t, 6>& all) {
  const std::optional<std::string> name = text_from(process, all[1], XATTR_NAME_MAX + 1);
  if (!name) return errno;
  if (!name->starts_with("user.") && !name->starts_with("system.posix_acl_")) return ENOTSUP;
  if (!set) return removexattr(link.c_str(), name->c_str()) == 0 ? 0 : errno;
  if (all[3] > kLongestValue) return E2BIG;
  std::string value(all[3], '\0');
  if (!value.empty() && !read_from(process, all[2], value.data(), value.size())) return EFAULT;
  const int flags = static_cast<int>(all[4]);
  return setxattr(link.c_str(), name->c_str(), value.data(), value.size(), flags) == 0 ? 0 : errno;
}

int change_times(const std::string& link, int number, pid_t process,
                 const std::array<std::uint64_t, 6>& all) {
  std::array<timespec, 2> times{};
  const std::uint64_t from = number == kUtime || number == kUtimes ? all[1] : all[2];
  bool read = true;
  if (from == 0) {
    times[0].tv_nsec = times[1].tv_nsec = UTIME_NOW;
  } else if (number == SYS_utimensat) {
    read = read_from(process, from, times.data(), sizeof times);
  } else if (number == kUtime) {
    utimbuf old{};
    read = read_from(process, from, &old, sizeof old);
    times[0].tv_sec = old.actime;
    times[1].tv_sec = old.modtime;
  } else {
    std::array<timeval, 2> old{};
    read = read_from(process, from, old.data(), sizeof old);
    for (std::size_t i = 0; i < 2; ++i) times[i] = {old[i].tv_sec, old[i].tv_usec * 1000};
  }
  if (!read) return EFAULT;
  return utimensat(AT_FDCWD, link.c_str(), times.data(), 0) == 0 ? 0 : errno;
}

int change_mode(const std::string& link, std::uint64_t mode) {
  if ((mode & (S_ISUID | S_ISGID)) != 0) return EPERM;
  return chmod(link.c_str(), static_cast<mode_t>(mode & 07777)) == 0 ? 0 : errno;
}

int change_owner(const Fd& file, std::uint64_t user, std::uint64_t group) {
  return fchownat(file.get(), "", static_cast<uid_t>(user), static_cast<gid_t>(group),
                  AT_EMPTY_PATH) == 0
             ? 0
             : errno;
}

// Whether a process is the command or was made by it: then the supervisor is above it.
bool is_below_this(pid_t process) {
  for (int depth = 0; process > 1 && depth < 10'000; ++depth) {
    const std::string stat = stat_of(process);
    const std::string_view parent = exec::field_of_stat(stat, 4);
    pid_t above = 0;
    std::from_chars(parent.data(), parent.data() + parent.size(), above);
    if (above == getpid()) return true;
    process = above;
  }
  return false;
}

// Of which process a call wants something; zero: of none that can be named.
pid_t target_of(int number, pid_t caller, const std::array<std::uint64_t, 6>& all) {
  const auto first = static_cast<pid_t>(all[0]);
  if (number == SYS_setpriority || number == SYS_ioprio_set) return static_cast<pid_t>(all[1]);
  if (number != SYS_pidfd_send_signal) return first == INT_MIN || first == -1 ? 0 : std::abs(first);
  // "Pid:" of a descriptor of a process
  const std::string path = proc_of(caller, "fdinfo/" + std::to_string(first));
  const std::string about = read_all(AT_FDCWD, path.c_str(), 4096).value_or("");
  const std::size_t at = about.find("\nPid:");
  return at == std::string::npos
             ? 0
             : static_cast<pid_t>(std::strtol(about.c_str() + at + 5, nullptr, 10));
}

}  // namespace

bool Broker::may_write(const Fd& object) const {
  const std::string link = "/proc/self/fd/" + std::to_string(object.get());
  std::array<char, PATH_MAX> room{};
  const ssize_t size = readlink(link.c_str(), room.data(), room.size());
  if (size <= 0) return false;
  const std::string_view path(room.data(), static_cast<std::size_t>(size));
  for (const std::string& each : writable_) {
    if (path == each) return true;
    if (path.starts_with(each) && (each.ends_with('/') || path[each.size()] == '/')) return true;
  }
  return false;
}

Broker::Answer Broker::change_file(const Call& call) const {
  const std::array<std::uint64_t, 6>& all = call.arguments;
  const std::optional<Place> place = place_of(call.number, all);
  if (!place) return {EPERM};
  const Fd file = find(call.process, *place);
  if (file.get() < 0) return {errno == 0 ? EFAULT : errno};
  if (!may_write(file)) return {EACCES};
  // Still the process that asked: another one of its number may have other files open.
  if (ioctl(fd(), SECCOMP_IOCTL_NOTIF_ID_VALID, &call.id) != 0) return {ENOENT};
  const std::string link = "/proc/self/fd/" + std::to_string(file.get());
  const int number = call.number;
  if (number == kChmod) return {change_mode(link, all[1])};
  if (number == kChown || number == kLchown) return {change_owner(file, all[1], all[2])};
  switch (number) {
    case SYS_fchmod:
      return {change_mode(link, all[1])};
    case SYS_fchmodat:
    case kFchmodat2:
      return {change_mode(link, all[2])};
    case SYS_fchown:
      return {change_owner(file, all[1], all[2])};
    case SYS_fchownat:
      return {change_owner(file, all[2], all[3])};
    case SYS_setxattr:
    case SYS_lsetxattr:
    case SYS_fsetxattr:
      return {change_attribute(link, call.process, true, all)};
    case SYS_removexattr:
    case SYS_lremovexattr:
    case SYS_fremovexattr:
      return {change_attribute(link, call.process, false, all)};
    case SYS_truncate:
      return {truncate(link.c_str(), static_cast<off_t>(all[1])) == 0 ? 0 : errno};
    default:
      return {change_times(link, number, call.process, all)};
  }
}

Broker::Answer Broker::judge(const Call& call) const {
  switch (call.number) {
    case SYS_prlimit64:
    case SYS_sched_setaffinity:
    case SYS_sched_setscheduler:
    case SYS_sched_setparam:
    case SYS_sched_setattr:
    case SYS_setpriority:
    case SYS_ioprio_set:
    case SYS_kill:
    case SYS_tkill:
    case SYS_tgkill:
    case SYS_rt_sigqueueinfo:
    case SYS_rt_tgsigqueueinfo:
    case SYS_pidfd_send_signal:
      // Numbers in registers: nobody can change them between this and the call.
      if (is_below_this(target_of(call.number, call.process, call.arguments))) return {0, true};
      return {EPERM};
    default:
      return change_file(call);
  }
}

void Broker::answer() {
  seccomp_notif asked{};
  if (ioctl(fd(), SECCOMP_IOCTL_NOTIF_RECV, &asked) != 0) {
    // Nobody is left that could ask, or the one that asked is gone.
    if (errno != EINTR && errno != ENOENT && errno != EAGAIN) listener_.close();
    return;
  }
  Call call;
  call.id = asked.id;
  call.process = static_cast<pid_t>(asked.pid);
  call.number = asked.data.nr;
  std::copy(std::begin(asked.data.args), std::end(asked.data.args), call.arguments.begin());
  Answer given;
  try {
    given = judge(call);
  } catch (const Refusal&) {
    given.error = EPERM;  // the process that is asked about is gone, or not to be looked at
  }
  seccomp_notif_resp said{};
  said.id = asked.id;
  said.error = -given.error;
  if (given.go_on) said.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  ioctl(fd(), SECCOMP_IOCTL_NOTIF_SEND, &said);  // it fails when the caller was killed meanwhile
}

}  // namespace tiffany::supervisor

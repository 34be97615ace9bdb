#include "confine.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "filter.hpp"
#include "sandbox_probe.hpp"

namespace tiffany::supervisor {
namespace {

// A link that points outside counts as what it points to.
std::string real_path(const std::string& path) {
  std::array<char, PATH_MAX> room{};
  if (realpath(path.c_str(), room.data()) != nullptr) return room.data();
  throw Refusal("The command was not started: its sandbox names " + path + ": " +
                std::strerror(errno) + ".");
}

bool is_in(const std::string& path, const std::string& directory) {
  return path == directory || directory == "/" || path.starts_with(directory + "/");
}

void require_level(int level) {
  if (level <= 1) return;
  const std::string begin =
      "The command was not started: it needs a sandbox of level " + std::to_string(level) + ". ";
  if (level > exec::Sandbox::kHighest) throw SandboxMissing(begin + "The highest is 3.");
  const std::string missing = level_two_missing();
  if (!missing.empty()) throw SandboxMissing(begin + missing);
}

Fd make_outputs(const CommandDirectory& directory) {
  Fd file(openat(directory.fd(), "outputs", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file.get() < 0) refuse("make", directory.path() + "/outputs");
  return file;
}

FilterChoice filter_choice(const Reachable& reach, bool notify) {
  FilterChoice choice;
  choice.level = reach.level;
  choice.landlock_abi = landlock_abi();
  choice.network = reach.network;
  choice.unix_sockets = reach.unix_sockets;
  choice.notify = notify;
  return choice;
}

bool drop_capabilities() noexcept {
  // Fails without privileges, and then there is nothing to keep from coming back.
  prctl(PR_SET_SECUREBITS,
        SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
            SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |
            SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
        0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const std::array<__user_cap_data_struct, 2> none{};
  return syscall(SYS_capset, &header, none.data()) == 0;
}

}  // namespace

std::vector<std::string> basic_paths(bool network) {
  std::vector<std::string> all{"/usr",
                               "/bin",
                               "/sbin",
                               "/lib",
                               "/lib32",
                               "/lib64",
                               "/libx32",
                               "/nix/store",
                               "/gnu/store",
                               "/etc/ld.so.cache",
                               "/etc/ld.so.preload",
                               "/etc/alternatives",
                               "/etc/localtime",
                               "/etc/passwd",
                               "/etc/group",
                               "/etc/nsswitch.conf",
                               "/etc/os-release",
                               "/etc/profile",
                               "/etc/bash.bashrc",
                               "/etc/gitconfig",
                               "/etc/magic",
                               "/etc/mime.types",
                               "/etc/ssl/openssl.cnf",
                               "/etc/ssl/certs",
                               "/etc/pki/tls/certs",
                               "/etc/pki/ca-trust",
                               "/etc/perl",
                               "/sys/devices/system/cpu"};
  if (network) {
    all.insert(all.end(), {"/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf",
                           "/etc/services", "/etc/protocols", "/etc/ca-certificates"});
  }
  return all;
}

Reachable reachable_by(const exec::CommandSpec& spec, const CommandDirectory& directory) {
  Reachable reach;
  if (!spec.sandbox || spec.sandbox->level <= 0) return reach;
  const exec::Sandbox& wanted = *spec.sandbox;
  require_level(wanted.level);
  reach.level = wanted.level;
  if (wanted.level == 1) return reach;
  if (spec.directory.empty()) {
    throw Refusal("The command was not started: in a sandbox it needs a directory.");
  }
  const std::string base = real_path(spec.directory);
  const auto resolved = [&](const std::string& path) {
    return real_path(path.starts_with('/') ? path : base + "/" + path);
  };
  for (const std::string& each : wanted.read) reach.read.push_back(resolved(each));
  for (const std::string& each : wanted.write) reach.write.push_back(resolved(each));
  (wanted.directory_writable ? reach.write : reach.read).push_back(base);
  for (const std::string& each : reach.write) {
    if (!is_in(directory.path(), each)) continue;
    throw Refusal("The command was not started: its sandbox lets it write " + each +
                  ", where the records of commands are. Give it another directory.");
  }
  make_outputs(directory);
  if (mkdirat(directory.fd(), kPrivateDirectory, 0700) != 0 && errno != EEXIST) {
    refuse("make", directory.path() + "/" + kPrivateDirectory);
  }
  reach.write.push_back(directory.path() + "/outputs");
  reach.write.push_back(directory.path() + "/" + kPrivateDirectory);
  reach.network = wanted.network;
  reach.unix_sockets = wanted.unix_sockets;
  return reach;
}

std::string path_within(const Reachable& reach, std::string_view path) {
  std::vector<std::string> roots = basic_paths(false);
  for (const std::vector<std::string>& more : {reach.read, reach.write}) {
    roots.insert(roots.end(), more.begin(), more.end());
  }
  std::string left;
  for (;;) {
    const std::string each(path.substr(0, path.find(':')));
    const auto has = [&](const std::string& root) { return is_in(each, root); };
    if (std::any_of(roots.begin(), roots.end(), has)) left += (left.empty() ? "" : ":") + each;
    if (each.size() == path.size()) break;
    path.remove_prefix(each.size() + 1);
  }
  return left.empty() ? "/usr/local/bin:/usr/bin:/bin" : left;
}

exec::CommandLimits limits_of(const exec::CommandSpec& spec) {
  exec::CommandLimits limits = spec.limits;
  const int level = spec.sandbox_level();
  if (level <= 0) return limits;
  constexpr std::uint64_t kOpenFiles = 4096;
  constexpr std::uint64_t kFileBytes = std::uint64_t{16} << 30;
  constexpr std::uint64_t kProcessesOfUser = 4096;
  if (!limits.open_files) limits.open_files = kOpenFiles;
  if (!limits.file_bytes) limits.file_bytes = kFileBytes;
  // From level 2 on the supervisor counts those of the command; this bounds what it has not seen.
  const std::uint64_t wanted = limits.processes.value_or(kProcessesOfUser);
  limits.processes = level == 1 ? wanted : std::max(wanted, kProcessesOfUser);
  return limits;
}

bool send_message(int to, char what, const void* bytes, std::size_t size, int fd) noexcept {
  std::array<iovec, 2> parts{{{&what, 1}, {const_cast<void*>(bytes), size}}};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  if (fd >= 0) {
    message.msg_control = room.data();
    message.msg_controllen = room.size();
    cmsghdr* const about = CMSG_FIRSTHDR(&message);
    about->cmsg_level = SOL_SOCKET;
    about->cmsg_type = SCM_RIGHTS;
    about->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(about), &fd, sizeof fd);
  }
  return sendmsg(to, &message, MSG_NOSIGNAL) > 0;
}

Message receive_message(int from) {
  std::array<char, 4096> text{};
  iovec part{text.data(), text.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> room{};
  message.msg_control = room.data();
  message.msg_controllen = room.size();
  Message got;
  const ssize_t size = recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  const cmsghdr* const about = CMSG_FIRSTHDR(&message);
  if (size > 0 && about != nullptr && about->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(about), sizeof fd);
    got.fd = Fd(fd);
  }
  got.later = size < 0 && (errno == EAGAIN || errno == EINTR);
  if (size <= 0) return got;
  got.what = text[0];
  got.text.assign(text.data() + 1, static_cast<std::size_t>(size) - 1);
  return got;
}

Confinement::Confinement(const Reachable& reach, bool notify, int tell)
    : rules_(landlock_abi(), reach.network),
      notify_(notify),
      own_proc_(reach.level == 2),
      tell_(tell) {
  for (const std::string& each : basic_paths(reach.network)) rules_.allow(each, Reach::read);
  for (const std::string& each : reach.read) {
    if (!rules_.allow(each, Reach::read)) refuse("open", each);
  }
  for (const std::string& each : reach.write) {
    if (!rules_.allow(each, Reach::write)) refuse("open", each);
  }
  if (reach.level >= 3) {
    rules_.allow("/proc", Reach::read);
    rules_.allow("/dev", Reach::private_devices);
    rules_.allow("/tmp", Reach::write);
  } else {
    for (const char* const each : {"/dev/null", "/dev/zero", "/dev/full"}) {
      rules_.allow(each, Reach::device);
    }
    for (const char* const each :
         {"/dev/random", "/dev/urandom", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
          "/proc/filesystems", "/proc/sys/vm/overcommit_memory"}) {
      rules_.allow(each, Reach::read);
    }
  }
  program_ = filter_program(filter_choice(reach, notify));
}

void prepare_confinement() {
  if (!level_two_missing().empty()) return;
  Reachable usual;
  usual.level = 2;
  filter_program(filter_choice(usual, has_notify()));
}

const char* Confinement::enter() const noexcept {
  if (!drop_capabilities()) return "give up its capabilities";
  if (own_proc_ && !allow_own_proc(rules_.fd())) return "make a rule of Landlock";
  if (!enter_landlock(rules_.fd())) return "enter Landlock";
  const int listener = enter_filter(program_, notify_);
  if (listener < 0) return kEnterFilter;
  if (!notify_) return nullptr;
  // From here on no call may be made that is asked about: nobody answers yet.
  return send_message(tell_, kListener, "", 0, listener) ? nullptr : "tell its supervisor";
}

}  // namespace tiffany::supervisor

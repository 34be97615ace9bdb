// Parts of the kernel that a command has no business with. Calls that would do harm have arguments
// that make no sense: they fail in another way when they are not refused.
#include <fcntl.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <ctime>

#include "escape.hpp"

namespace tiffany::escape {
namespace {

bool make_ring() {
  char room[256]{};
  return syscall(SYS_io_uring_setup, 1, room) >= 0;
}
bool unshare_user() { return unshare(CLONE_NEWUSER) == 0; }
bool unshare_mounts() { return unshare(CLONE_NEWNS) == 0; }
bool unshare_time() { return unshare(0x80) == 0; }
bool clone_user() {
  const long child = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(0);
  return child > 0;
}
bool clone_newer() {
  std::uint64_t room[11]{};
  room[0] = CLONE_NEWUSER;
  room[4] = SIGCHLD;
  const long child = syscall(SYS_clone3, room, sizeof room);
  if (child == 0) _exit(0);
  return child > 0;
}
bool enter_namespace() {
  const int fd = open("/proc/self/ns/user", O_RDONLY);
  return reached(setns(fd < 0 ? 0 : fd, 0x123));
}
bool mount_something() { return reached(mount("none", "/nowhere", "tmpfs", 0, nullptr)); }
bool unmount_something() { return reached(umount2("/nowhere", 0)); }
bool open_mounts() { return reached(syscall(SYS_open_tree, AT_FDCWD, "/", 1)); }
bool make_filesystem() { return reached(syscall(SYS_fsopen, "tmpfs", 0)); }
bool change_root() { return chroot(".") == 0; }
bool pivot() { return reached(syscall(SYS_pivot_root, "/nowhere", "/nowhere")); }
bool load_program() { return reached(syscall(SYS_bpf, 0, nullptr, 0)); }
bool open_counter() {
  std::uint32_t room[32]{};
  room[1] = sizeof room;
  return reached(syscall(SYS_perf_event_open, room, 0, -1, -1, 0));
}
bool add_key() {
  return syscall(SYS_add_key, "user", "tiffany", "x", 1, -2) >= 0;  // in the process's own ring
}
bool list_keys() { return syscall(SYS_keyctl, 0, -4, 0) >= 0; }    // the ring of the user
bool handle_faults() { return syscall(SYS_userfaultfd, 1) >= 0; }  // in user mode only
bool load_kernel() { return reached(syscall(SYS_kexec_load, 0, 99999, nullptr, 0)); }
bool load_module() { return reached(syscall(SYS_init_module, nullptr, 0, "")); }
bool restart() { return reached(syscall(SYS_reboot, 1, 2, 3, nullptr)); }
bool set_clock() {
  const timespec never{0, -1};
  return reached(syscall(SYS_clock_settime, CLOCK_REALTIME, &never));
}
bool set_host_name() { return reached(syscall(SYS_sethostname, "", -1)); }
bool swap_memory() { return reached(syscall(SYS_swapon, nullptr, 0)); }
bool read_kernel_log() { return reached(syscall(SYS_syslog, 3, nullptr, 0)); }
bool watch_all_files() { return reached(syscall(SYS_fanotify_init, 0, 0)); }
bool type_into_terminal() {
  char byte = 'x';
  return reached(ioctl(0, TIOCSTI, &byte));
}
// The kernel takes the low half of the number.
bool type_with_high_bits() {
  char byte = 'x';
  return reached(syscall(SYS_ioctl, 0, (std::uint64_t{1} << 40) | TIOCSTI, &byte));
}
bool paste_into_console() {
  char what = 2;
  return reached(ioctl(0, 0x541c, &what));
}
bool make_memory_executable() { return personality(0x0400000) >= 0; }
bool become_root() {
  return getuid() != 0 && (setuid(0) == 0 || setresuid(0, 0, 0) == 0 || setgid(0) == 0);
}
bool run_setuid_program() {
  const std::string program = target().shelf + "/setuid-id";
  return system(("test -x " + program + " && test \"$(" + program + " -u)\" != \"$(id -ru)\"")
                    .c_str()) == 0;
}
bool call_x32() {
#ifdef __x86_64__
  return syscall(0x40000000 + 39) > 0;
#else
  return false;
#endif
}
bool call_i386() {
#ifdef __x86_64__
  long result = 20;  // getpid
  asm volatile("int $0x80" : "+a"(result) : : "memory", "r8", "r9", "r10", "r11");
  return result > 0;
#else
  return false;
#endif
}
bool call_the_future() { return reached(syscall(469, -1, "", nullptr, 0, 0)); }

}  // namespace

std::vector<Attempt> kernel_attempts() {
  constexpr Proof kAll = Proof::everybody;
  constexpr Proof kRoot = Proof::root;
  constexpr Proof kNone = Proof::none;
  return {{"make_ring", kNone, make_ring},
          {"unshare_user", kNone, unshare_user},
          {"unshare_mounts", kRoot, unshare_mounts},
          {"unshare_time", kNone, unshare_time},
          {"clone_user", kNone, clone_user},
          {"clone_newer", kNone, clone_newer},
          {"enter_namespace", kNone, enter_namespace},
          {"mount_something", kRoot, mount_something},
          {"unmount_something", kRoot, unmount_something},
          {"open_mounts", kRoot, open_mounts},
          {"make_filesystem", kRoot, make_filesystem},
          {"change_root", kRoot, change_root},
          {"pivot", kRoot, pivot},
          {"load_program", kRoot, load_program},
          {"open_counter", kNone, open_counter},
          {"add_key", kNone, add_key},
          {"list_keys", kNone, list_keys},
          {"handle_faults", kNone, handle_faults},
          {"load_kernel", kNone, load_kernel},
          {"load_module", kNone, load_module},
          {"restart", kRoot, restart},
          {"set_clock", kRoot, set_clock},
          {"set_host_name", kRoot, set_host_name},
          {"swap_memory", kNone, swap_memory},
          {"read_kernel_log", kNone, read_kernel_log},
          {"watch_all_files", kNone, watch_all_files},
          {"type_into_terminal", kAll, type_into_terminal},
          {"type_with_high_bits", kAll, type_with_high_bits},
          {"paste_into_console", kAll, paste_into_console},
          {"make_memory_executable", kAll, make_memory_executable},
          {"become_root", kNone, become_root},
          {"run_setuid_program", kNone, run_setuid_program},
          {"call_x32", kNone, call_x32},
          {"call_i386", kNone, call_i386},
          {"call_the_future", kNone, call_the_future}};
}

}  // namespace tiffany::escape

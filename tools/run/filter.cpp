#include "filter.hpp"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <utility>

#include "filter_code.hpp"
#include "landlock.hpp"
#include "numbers.hpp"

namespace tiffany::supervisor {
namespace {

constexpr std::uint32_t kKill = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t kAsk = SECCOMP_RET_USER_NOTIF;
constexpr std::uint32_t failing(int error) noexcept {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

// The argument is one of `values`: `yes`, else `no`.
Code one_of(int number, std::initializer_list<std::uint32_t> values, std::uint32_t yes,
            std::uint32_t no) {
  Code code{argument(number)};
  std::size_t left = values.size();
  for (const std::uint32_t value : values) code.push_back(jump(BPF_JEQ, value, left--, 0));
  code.push_back(give(no));
  code.push_back(give(yes));
  return code;
}
// One of the bits is set: `yes`, else `no`.
Code any_bit(int number, std::uint32_t bits, std::uint32_t yes, std::uint32_t no) {
  return {argument(number), jump(BPF_JSET, bits, 0, 1), give(yes), give(no)};
}

constexpr std::uint32_t kSetIds = S_ISUID | S_ISGID;
constexpr std::uint32_t kTemporaryFile = O_TMPFILE & ~O_DIRECTORY;

// A file that is made must not have the bits that lend its owner to others. Before Landlock knew of
// truncation, O_TRUNC without the right to write had to be refused here.
Code opening(int flags, int mode, bool without_truncate) {
  Code code{argument(flags)};
  if (without_truncate) {
    code.push_back(jump(BPF_JSET, O_TRUNC, 0, 3));
    code.push_back(jump(BPF_JSET, O_ACCMODE, 1, 0));
    code.push_back(give(failing(EACCES)));
    code.push_back(argument(flags));
  }
  code.push_back(jump(BPF_JSET, O_CREAT | kTemporaryFile, 0, 2));
  code.push_back(argument(mode));
  code.push_back(jump(BPF_JSET, kSetIds, 1, 0));
  code.push_back(give(kAllow));
  code.push_back(give(failing(EPERM)));
  return code;
}

Code sockets(const FilterChoice& choice) {
  Code code{argument(0)};
  if (choice.unix_sockets) {
    code.push_back(jump(BPF_JEQ, AF_UNIX, 0, 1));
    code.push_back(give(kAllow));
  }
  if (choice.network) {
    for (const unsigned family : {2U, 10U}) {  // AF_INET, AF_INET6
      code.push_back(jump(BPF_JEQ, family, 0, 1));
      code.push_back(give(kAllow));
    }
    // Which interfaces there are, for getaddrinfo(): NETLINK_ROUTE, the protocol 0.
    code.push_back(jump(BPF_JEQ, AF_NETLINK, 0, 3));
    code.push_back(argument(2));
    code.push_back(jump(BPF_JEQ, 0, 0, 1));
    code.push_back(give(kAllow));
  }
  code.push_back(give(failing(EACCES)));
  return code;
}

// A pair of datagram sockets could send to an address, too.
Code socket_pairs(const FilterChoice& choice) {
  if (choice.unix_sockets) return always(kAllow);
  return {argument(1),
          BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xf),
          jump(BPF_JEQ, SOCK_STREAM, 1, 0),
          jump(BPF_JEQ, SOCK_SEQPACKET, 0, 1),
          give(kAllow),
          give(failing(EACCES))};
}

constexpr std::uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                         CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

// setpriority and ioprio_set: `of_process` with 0 is the caller itself, with a number another one.
Code priorities(std::uint32_t of_process, std::uint32_t other) {
  return {argument(0),         jump(BPF_JEQ, of_process, 0, 4),
          argument(1),         jump(BPF_JEQ, 0, 0, 1),
          give(kAllow),        give(other),
          give(failing(EPERM))};
}

void set(Calls& calls, std::initializer_list<int> numbers, const Code& code) {
  for (const int number : numbers) {
    if (number >= 0) calls[number] = code;
  }
}

// What a command has no business with, whatever its user may do.
void add_forbidden(Calls& calls) {
  set(calls,
      {SYS_ptrace,
       SYS_process_vm_readv,
       SYS_process_vm_writev,
       SYS_kcmp,
       SYS_pidfd_getfd,
       SYS_process_madvise,
       kProcessMrelease,
       SYS_migrate_pages,
       SYS_move_pages,
       SYS_perf_event_open,
       SYS_bpf,
       SYS_userfaultfd,
       SYS_add_key,
       SYS_request_key,
       SYS_keyctl,
       SYS_kexec_load,
       SYS_kexec_file_load,
       SYS_init_module,
       SYS_finit_module,
       SYS_delete_module,
       SYS_reboot,
       SYS_mount,
       SYS_umount2,
       SYS_pivot_root,
       SYS_chroot,
       SYS_unshare,
       SYS_setns,
       SYS_mount_setattr,
       SYS_open_tree,
       SYS_move_mount,
       SYS_fsopen,
       SYS_fsconfig,
       SYS_fsmount,
       SYS_fspick,
       SYS_acct,
       SYS_swapon,
       SYS_swapoff,
       SYS_quotactl,
       kQuotactlFd,
       SYS_settimeofday,
       SYS_clock_settime,
       SYS_clock_adjtime,
       SYS_adjtimex,
       SYS_sethostname,
       SYS_setdomainname,
       SYS_syslog,
       SYS_vhangup,
       SYS_name_to_handle_at,
       SYS_open_by_handle_at,
       SYS_fanotify_init,
       SYS_fanotify_mark,
       kIopl,
       kIoperm,
       kModifyLdt,
       kUselib,
       kUstat,
       kSysfs},
      always(failing(EPERM)));
  // As on a kernel without them: libraries know what to do then.
  set(calls,
      {SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register, SYS_clone3, SYS_openat2},
      always(failing(ENOSYS)));
  // Asked for, as it is, and without randomised addresses: as sanitizers want it.
  set(calls, {SYS_personality}, one_of(0, {0xffffffff, 0, 0x0040000}, kAllow, failing(EPERM)));
  // Words typed into a terminal; flags of files that may only be read.
  set(calls, {SYS_ioctl},
      one_of(1,
             {TIOCSTI, 0x541c /*TIOCLINUX*/, TIOCCONS, 0x40086602 /*FS_IOC_SETFLAGS*/,
              0x40046602 /*FS_IOC32_SETFLAGS*/, 0x401c5820 /*FS_IOC_FSSETXATTR*/,
              0x40806685 /*FS_IOC_ENABLE_VERITY*/, 0x800c6613 /*..SET_ENCRYPTION_POLICY*/},
             failing(EPERM), kAllow));
}

void add_files(Calls& calls, const FilterChoice& choice) {
  const bool old = choice.landlock_abi < kAbiWithTruncate;
  set(calls, {kOpen}, opening(1, 2, old));
  set(calls, {SYS_openat}, opening(2, 3, old));
  set(calls, {kCreat, kMknod}, any_bit(1, kSetIds, failing(EPERM), kAllow));
  set(calls, {SYS_mknodat}, any_bit(2, kSetIds, failing(EPERM), kAllow));
  if (choice.level >= 3) {  // mounts that may not be written hold back the rest
    set(calls, {kChmod, SYS_fchmod}, any_bit(1, kSetIds, failing(EPERM), kAllow));
    set(calls, {SYS_fchmodat, kFchmodat2}, any_bit(2, kSetIds, failing(EPERM), kAllow));
    return;
  }
  // Landlock does not know of these.
  set(calls,
      {kChmod, SYS_fchmod, SYS_fchmodat, kFchmodat2, kChown, SYS_fchown, kLchown, SYS_fchownat,
       kUtime, kUtimes, kFutimesat, SYS_utimensat, SYS_setxattr, SYS_lsetxattr, SYS_fsetxattr,
       SYS_removexattr, SYS_lremovexattr, SYS_fremovexattr},
      always(choice.notify ? kAsk : failing(EPERM)));
  if (old) set(calls, {SYS_truncate}, always(choice.notify ? kAsk : failing(EPERM)));
  // Names of files in a directory that may not be read.
  set(calls, {SYS_inotify_add_watch}, always(failing(EACCES)));
}

void add_processes(Calls& calls, const FilterChoice& choice) {
  // Nobody is asked: a question ends with EINTR when a signal comes, and no program expects that of
  // fork.
  set(calls, {SYS_clone}, any_bit(0, kNewNamespaces, failing(EPERM), kAllow));
  if (choice.level >= 3) return;  // nobody else is there
  const std::uint32_t other = choice.notify ? kAsk : failing(EPERM);
  set(calls,
      {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam,
       SYS_sched_setattr},
      one_of(0, {0}, kAllow, other));
  set(calls, {SYS_setpriority}, priorities(0, other));
  set(calls, {SYS_ioprio_set}, priorities(1, other));
  // Memory and queues that all processes of a user share.
  set(calls,
      {SYS_shmget, SYS_shmat, SYS_shmctl, SYS_semget, SYS_semop, SYS_semtimedop, SYS_semctl,
       SYS_msgget, SYS_msgsnd, SYS_msgrcv, SYS_msgctl, SYS_mq_open, SYS_mq_unlink},
      always(failing(EPERM)));
  if (choice.landlock_abi >= kAbiWithScopes) return;
  set(calls, {SYS_kill}, one_of(0, {0}, kAllow, other));
  set(calls,
      {SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, SYS_pidfd_send_signal},
      always(other));
  set(calls, {SYS_fcntl}, one_of(1, {F_SETOWN, F_SETOWN_EX}, failing(EPERM), kAllow));
}

}  // namespace

namespace {

Code made(const FilterChoice& choice) {
  Calls calls;
  add_forbidden(calls);
  add_files(calls, choice);
  add_processes(calls, choice);
  set(calls, {SYS_socket}, sockets(choice));
  set(calls, {SYS_socketpair}, socket_pairs(choice));
  Code code{load(offsetof(seccomp_data, arch)), jump(BPF_JEQ, kArchitecture, 1, 0), give(kKill),
            load(offsetof(seccomp_data, nr))};
  if (kForeignNumbers != 0) {
    code.push_back(jump(BPF_JGE, kForeignNumbers, 0, 1));
    code.push_back(give(kKill));
  }
  code.push_back(jump(BPF_JGT, kNewestKnown, 0, 1));
  code.push_back(give(failing(ENOSYS)));
  const Code found = search(calls);
  code.insert(code.end(), found.begin(), found.end());
  return code;
}

}  // namespace

const std::vector<sock_filter>& filter_program(const FilterChoice& choice) {
  static FilterChoice known;
  static Code program;
  if (program.empty() || known != choice) {
    program = made(choice);
    known = choice;
  }
  return program;
}

bool has_seccomp() noexcept {
  const std::uint32_t action = kKill;
  return kArchitecture != 0 && syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &action) == 0;
}

bool has_notify() noexcept {
  const std::uint32_t action = kAsk;
  return std::getenv("TIFFANY_TEST_NO_NOTIFY") == nullptr &&
         syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0U, &action) == 0;
}

int enter_filter(const std::vector<sock_filter>& program, bool notify) noexcept {
  const sock_fprog whole{static_cast<unsigned short>(program.size()),
                         const_cast<sock_filter*>(program.data())};
  constexpr unsigned kKillableWait = 1U << 5;  // since Linux 5.19
  for (const unsigned more : {kKillableWait, 0U}) {
    const unsigned flags = notify ? SECCOMP_FILTER_FLAG_NEW_LISTENER | more : 0U;
    const long made = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &whole);
    if (made >= 0 || errno != EINVAL || flags == 0) return static_cast<int>(made);
  }
  return -1;
}

}  // namespace tiffany::supervisor

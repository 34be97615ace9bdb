// Numbers of system calls that the headers here may not have: calls of other architectures are -1,
// and newer calls have the same number everywhere.
#pragma once

#include <linux/audit.h>
#include <sys/syscall.h>

namespace tiffany::supervisor {

#if defined(__x86_64__) && !defined(__ILP32__)
inline constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__) && !defined(__AARCH64EB__)
inline constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
inline constexpr unsigned kArchitecture = 0;  // no filter is written for it
#endif
#if defined(__x86_64__)
inline constexpr unsigned kForeignNumbers = 0x40000000;  // those of the x32 ABI
#else
inline constexpr unsigned kForeignNumbers = 0;
#endif

inline constexpr int kQuotactlFd = 443;
inline constexpr int kProcessMrelease = 448;
inline constexpr int kFchmodat2 = 452;
// What came after it (setxattrat, open_tree_attr, file_setattr, ...) is not judged one by one.
inline constexpr int kNewestKnown = 462;

#ifdef SYS_open
#define TIFFANY_OLD_CALL(name) SYS_##name
#else
#define TIFFANY_OLD_CALL(name) -1
#endif
inline constexpr int kOpen = TIFFANY_OLD_CALL(open);
inline constexpr int kCreat = TIFFANY_OLD_CALL(creat);
inline constexpr int kMknod = TIFFANY_OLD_CALL(mknod);
inline constexpr int kChmod = TIFFANY_OLD_CALL(chmod);
inline constexpr int kChown = TIFFANY_OLD_CALL(chown);
inline constexpr int kLchown = TIFFANY_OLD_CALL(lchown);
inline constexpr int kUtime = TIFFANY_OLD_CALL(utime);
inline constexpr int kUtimes = TIFFANY_OLD_CALL(utimes);
inline constexpr int kFutimesat = TIFFANY_OLD_CALL(futimesat);
inline constexpr int kIopl = TIFFANY_OLD_CALL(iopl);
inline constexpr int kIoperm = TIFFANY_OLD_CALL(ioperm);
inline constexpr int kModifyLdt = TIFFANY_OLD_CALL(modify_ldt);
inline constexpr int kUselib = TIFFANY_OLD_CALL(uselib);
inline constexpr int kUstat = TIFFANY_OLD_CALL(ustat);
inline constexpr int kSysfs = TIFFANY_OLD_CALL(sysfs);
#undef TIFFANY_OLD_CALL

}  // namespace tiffany::supervisor

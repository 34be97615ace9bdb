// The seccomp filter of a sandbox: which system calls a command may make.
#pragma once

#include <linux/filter.h>

#include <vector>

namespace tiffany::supervisor {

struct FilterChoice {
  int level = 2;
  int landlock_abi = 0;
  bool network = false;
  bool unix_sockets = false;
  bool notify = false;  // what only the supervisor can judge is asked (broker.hpp), else refused

  friend bool operator==(const FilterChoice&, const FilterChoice&) = default;
};

// A program for seccomp(2). Calls of another architecture, and those of x32, kill the process. The
// last one is kept, so that a forker has it made for those that it forks.
const std::vector<sock_filter>& filter_program(const FilterChoice& choice);

bool has_seccomp() noexcept;
// Without the variable TIFFANY_TEST_NO_NOTIFY: tests see what happens on an older kernel.
bool has_notify() noexcept;

// For the child of vfork: the filter of this process and its children from now on. With `notify` a
// descriptor for the supervisor, else zero; negative: errno says why.
int enter_filter(const std::vector<sock_filter>& program, bool notify) noexcept;

}  // namespace tiffany::supervisor

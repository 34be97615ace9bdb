// The schedulers of this process, for a debugger: a symbol to find them by, and where to look
// inside.
//
// tools/gdb/tiffany_gdb.py reads `tiffany_schedulers` from a live process or a core file. It needs
// the symbol, and no other debug information: the offsets it uses are listed in the program itself.
//
// Thread safety: schedulers are made and destroyed on any thread; the list has a lock of its own,
// which nothing else takes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tiffany {

class CallKind;

// A scheduler is in the list as long as it has this member.
class LiveScheduler {
 public:
  LiveScheduler() noexcept;
  ~LiveScheduler();
  LiveScheduler(const LiveScheduler&) = delete;
  LiveScheduler& operator=(const LiveScheduler&) = delete;

 private:
  friend struct DebugLayout;
  LiveScheduler* next_ = nullptr;
  LiveScheduler* prev_ = nullptr;
};

// The first words are read by position.
struct LiveSchedulers {
  struct Offset {
    const char* name;  // `Type.member`; null ends the table
    std::size_t value;
  };
  LiveScheduler* first;
  const CallKind* first_call_kind;
  const Offset* offsets;
};

}  // namespace tiffany

extern "C" tiffany::LiveSchedulers tiffany_schedulers;

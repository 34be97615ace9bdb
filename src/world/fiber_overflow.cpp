// What happens when a fiber runs into the guard below its stack: a report that names the task, and
// then what would have happened without us.
//
// The report is written by a signal handler: nothing here may allocate, lock, or use much stack.
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <mutex>
#include <source_location>
#include <string_view>

#include "tiffany/core/site.hpp"
#include "tiffany/engine/fiber_switch.hpp"

namespace tiffany::detail {
namespace {

struct sigaction previous;

// A line of text that grows in place, and no further than its end.
class Line {
 public:
  Line& operator<<(std::string_view text) noexcept {
    const std::size_t size =
        text.size() < sizeof text_ - size_ ? text.size() : sizeof text_ - size_;
    std::memcpy(text_ + size_, text.data(), size);
    size_ += size;
    return *this;
  }
  Line& operator<<(std::uint64_t number) noexcept {
    char digits[20];
    std::size_t at = sizeof digits;
    do {
      digits[--at] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number > 0);
    return *this << std::string_view(digits + at, sizeof digits - at);
  }
  void write_to_stderr() const noexcept {
    for (std::size_t done = 0; done < size_;) {
      const ssize_t wrote = write(STDERR_FILENO, text_ + done, size_ - done);
      if (wrote <= 0) return;
      done += static_cast<std::size_t>(wrote);
    }
  }

 private:
  char text_[1024];
  std::size_t size_ = 0;
};

void report(const Fiber& fiber) noexcept {
  Line line;
  line << "error: the stack of a fiber is used up";
  if (const TaskRecord* const task = fiber.owner()) {
    line << ": task #" << std::uint64_t{task->id().slot()};
    if (task->id().generation() > 1) line << "." << std::uint64_t{task->id().generation()};
    if (!task->name().empty()) line << " \"" << task->name() << "\"";
    const std::source_location& site = task->spawn_site();
    line << ", spawned at " << file_text(site);
    if (!in_library(site)) line << ":" << std::uint64_t{site.line()};
  }
  const auto bytes = static_cast<std::uint64_t>(fiber.stack().top - fiber.stack().low);
  line << ", has used all " << (bytes >> 10)
       << " KiB of it. Give fibers larger stacks with Options::fiber_stack(bytes), recurse less "
          "deeply, or keep large arrays elsewhere.\n";
  line.write_to_stderr();
}

// As if it had come to who was there before.
void pass_on(int number, siginfo_t* info, void* context) noexcept {
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(number, info, context);
    return;
  }
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) {
    previous.sa_handler(number);
    return;
  }
  // The instruction is tried again when this returns, and then ends the program, with a core file
  // that shows it. A signal that was sent by somebody is not, and must be sent again.
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(number, &standard, nullptr);
  if (info->si_code <= 0) raise(number);
}

void on_fault(int number, siginfo_t* info, void* context) noexcept {
  if (const Fiber* const fiber = Fiber::running()) {
    const auto* const address = static_cast<const std::byte*>(info->si_addr);
    const std::byte* const low = fiber->stack().low;
    if (info->si_code > 0 && address < low && address >= low - StackPool::kGuard) report(*fiber);
  }
  pass_on(number, info, context);
}

// A handler cannot run on a stack that is used up. Threads that have one for that keep it.
class SignalStack {
 public:
  SignalStack() noexcept {
    stack_t present = {};
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    stack_t ours = {};
    ours.ss_sp = memory;
    ours.ss_size = kBytes;
    if (sigaltstack(&ours, nullptr) == 0) memory_ = memory;
  }
  ~SignalStack() {
    if (memory_ == nullptr) return;
    stack_t present = {};
    if (sigaltstack(nullptr, &present) == 0 && present.ss_sp == memory_) {
      stack_t none = {};
      none.ss_flags = SS_DISABLE;
      sigaltstack(&none, nullptr);
    }
    munmap(memory_, kBytes);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  // More than what the kernel puts there, and enough for a handler of others that we pass on to.
  static constexpr std::size_t kBytes = std::size_t{256} << 10;
  void* memory_ = nullptr;
};

}  // namespace

void watch_for_overflow() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction ours = {};
    ours.sa_sigaction = [](int number, siginfo_t* info, void* context) {
      on_fault(number, info, context);
    };
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    sigaction(SIGSEGV, &ours, &previous);
  });
  thread_local const SignalStack stack;
}

}  // namespace tiffany::detail

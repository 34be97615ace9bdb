// The floor of the rows fiber_switch and fiber_yield_*: the registers that a function must
// preserve, the stack pointer, and a jump. Contexts are entered one after the other from an array;
// there are no tasks, no exceptions, no queue. x86-64 only.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench_support.hpp"

#if defined(__x86_64__)

asm(R"(
.text
.p2align 4
.globl floor_switch
floor_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
floor_start:
  movq %rbx, %rdi
  call floor_main
  ud2
.globl floor_start_address
floor_start_address:
  leaq floor_start(%rip), %rax
  ret
)");

namespace {
struct Context {
  void* inside;
  void* outside;
};
}  // namespace

extern "C" {
void floor_switch(void** save, void* to);
void* floor_start_address();
[[gnu::used]] void floor_main(Context* self) {
  for (;;) floor_switch(&self->inside, self->outside);
}
}

namespace {

constexpr std::size_t stack_bytes = std::size_t{256} << 10;

// The stacks begin at different lines of their pages, or they would fight for the cache.
std::vector<Context> make_contexts(std::size_t count) {
  std::vector<Context> contexts(count);
  void* const mapped = mmap(nullptr, count * stack_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  bench::check(mapped != MAP_FAILED, "stacks are mapped");
  for (std::size_t i = 0; i < count; ++i) {
    auto* const top = static_cast<std::byte*>(mapped) + (i + 1) * stack_bytes - i % 32 * 64;
    void** at = reinterpret_cast<void**>(top);
    *--at = nullptr;
    *--at = nullptr;
    *--at = floor_start_address();
    *--at = nullptr;       // rbp
    *--at = &contexts[i];  // rbx
    for (int saved = 0; saved < 4; ++saved) *--at = nullptr;
    contexts[i].inside = at;
  }
  return contexts;
}

double in_turn(std::size_t count, std::size_t total) {
  std::vector<Context> contexts = make_contexts(count);
  const std::size_t rounds = total / count;
  for (Context& context : contexts) floor_switch(&context.outside, context.inside);
  const double ns = bench::cpu_ns_of([&] {
    for (std::size_t round = 0; round < rounds; ++round) {
      for (Context& context : contexts) floor_switch(&context.outside, context.inside);
    }
  });
  return ns / static_cast<double>(rounds * count);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Suite suite(argc, argv);
  const auto light = bench::Weight::light;
  const std::size_t total = suite.scale(10'000'000, 2'000'000);
  suite.run("fiber_switch", "ns", light, [&] { return in_turn(1, total) / 2; });
  suite.run("fiber_yield_2", "ns", light, [&] { return in_turn(2, total); });
  suite.run("fiber_yield_1k", "ns", light, [&] { return in_turn(1000, total); });
  suite.run("fiber_yield_100k", "ns", light, [&] { return in_turn(100'000, total); });
}

#else
int main() {}
#endif

// Our own switch. It keeps what a function must preserve, and leaves the control words of the
// floating-point unit alone: to write them costs as much as twenty switches on some machines.
//
// The way from one stack to the other is an indirect jump and not a return: the processor foresees
// returns by the calls before them, and would be wrong each time. On aarch64 it is a return, which
// programs that are built with branch protection allow everywhere.
//
// Where to leave to is known to the caller by another way than through the fiber, so that the
// processor need not know which fiber it is before it goes on outside.
//
// A debugger that walks up the stack of a fiber ends at tiffany_fiber_start, which says that it was
// called by nobody.
#include "fiber_context.hpp"

#if defined(__x86_64__)

static_assert(tiffany::detail::FiberLayout::inside_at == 32);
static_assert(tiffany::detail::FiberLayout::inside_pc_at == 40);
static_assert(tiffany::detail::FiberLayout::registers_at == 56);

asm(R"(
.text
.p2align 4
.globl tiffany_fiber_enter
.type tiffany_fiber_enter, @function
tiffany_fiber_enter:
  .cfi_startproc
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  pushq %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  pushq %r12
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r12, 0
  pushq %r13
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r13, 0
  pushq %r14
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r14, 0
  pushq %r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r15, 0
  movq %rsi, %rax
  movq %rsp, (%rdx)
  movq 40(%rdi), %rcx
  movq 32(%rdi), %rsp
  .cfi_def_cfa %rsp, 0
  .cfi_register %rip, %rcx
  movq 56(%rdi), %rbx
  movq 64(%rdi), %rbp
  movq 72(%rdi), %r12
  movq 80(%rdi), %r13
  movq 88(%rdi), %r14
  movq 96(%rdi), %r15
  .cfi_restore %rbx
  .cfi_restore %rbp
  .cfi_restore %r12
  .cfi_restore %r13
  .cfi_restore %r14
  .cfi_restore %r15
  jmpq *%rcx
  .cfi_endproc
.size tiffany_fiber_enter, . - tiffany_fiber_enter

.p2align 4
.globl tiffany_fiber_leave
.type tiffany_fiber_leave, @function
tiffany_fiber_leave:
  .cfi_startproc
  popq %rcx
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rcx
  movq %rsp, 32(%rdi)
  movq %rcx, 40(%rdi)
  movq %rbx, 56(%rdi)
  movq %rbp, 64(%rdi)
  movq %r12, 72(%rdi)
  movq %r13, 80(%rdi)
  movq %r14, 88(%rdi)
  movq %r15, 96(%rdi)
  movq %rsi, %rsp
  .cfi_def_cfa %rsp, 56
  .cfi_offset %rip, -8
  .cfi_offset %rbp, -16
  .cfi_offset %rbx, -24
  .cfi_offset %r12, -32
  .cfi_offset %r13, -40
  .cfi_offset %r14, -48
  .cfi_offset %r15, -56
  popq %r15
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r15
  popq %r14
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r14
  popq %r13
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r13
  popq %r12
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r12
  popq %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  popq %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbp
  popq %rcx
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rcx
  jmpq *%rcx
  .cfi_endproc
.size tiffany_fiber_leave, . - tiffany_fiber_leave

.p2align 4
.type tiffany_fiber_start, @function
.globl tiffany_fiber_start
tiffany_fiber_start:
  .cfi_startproc
  .cfi_undefined %rip
  movq %rbx, %rdi
  call tiffany_fiber_main@PLT
  ud2
  .cfi_endproc
.size tiffany_fiber_start, . - tiffany_fiber_start
)");

#elif defined(__aarch64__)

static_assert(tiffany::detail::FiberLayout::inside_at == 32);
static_assert(tiffany::detail::FiberLayout::inside_pc_at == 40);
static_assert(tiffany::detail::FiberLayout::registers_at == 56);

asm(R"(
.text
.p2align 4
.globl tiffany_fiber_enter
.type tiffany_fiber_enter, %function
tiffany_fiber_enter:
  .cfi_startproc
  stp x29, x30, [sp, #-160]!
  .cfi_adjust_cfa_offset 160
  .cfi_rel_offset x29, 0
  .cfi_rel_offset x30, 8
  stp x19, x20, [sp, #16]
  stp x21, x22, [sp, #32]
  stp x23, x24, [sp, #48]
  stp x25, x26, [sp, #64]
  stp x27, x28, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x2]
  ldp x9, x30, [x0, #32]
  mov sp, x9
  .cfi_def_cfa sp, 0
  .cfi_restore x30
  ldp x19, x20, [x0, #56]
  ldp x21, x22, [x0, #72]
  ldp x23, x24, [x0, #88]
  ldp x25, x26, [x0, #104]
  ldp x27, x28, [x0, #120]
  ldr x29, [x0, #136]
  .cfi_restore x29
  ldp d8, d9, [x0, #144]
  ldp d10, d11, [x0, #160]
  ldp d12, d13, [x0, #176]
  ldp d14, d15, [x0, #192]
  mov x0, x1
  ret
  .cfi_endproc
.size tiffany_fiber_enter, . - tiffany_fiber_enter

.p2align 4
.globl tiffany_fiber_leave
.type tiffany_fiber_leave, %function
tiffany_fiber_leave:
  .cfi_startproc
  mov x9, sp
  stp x9, x30, [x0, #32]
  stp x19, x20, [x0, #56]
  stp x21, x22, [x0, #72]
  stp x23, x24, [x0, #88]
  stp x25, x26, [x0, #104]
  stp x27, x28, [x0, #120]
  str x29, [x0, #136]
  stp d8, d9, [x0, #144]
  stp d10, d11, [x0, #160]
  stp d12, d13, [x0, #176]
  stp d14, d15, [x0, #192]
  mov sp, x1
  ldp x19, x20, [sp, #16]
  ldp x21, x22, [sp, #32]
  ldp x23, x24, [sp, #48]
  ldp x25, x26, [sp, #64]
  ldp x27, x28, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  ldp x29, x30, [sp], #160
  ret
  .cfi_endproc
.size tiffany_fiber_leave, . - tiffany_fiber_leave

.p2align 4
.globl tiffany_fiber_start
.type tiffany_fiber_start, %function
tiffany_fiber_start:
  .cfi_startproc
  .cfi_undefined x30
  mov x0, x19
  bl tiffany_fiber_main
  brk #1
  .cfi_endproc
.size tiffany_fiber_start, . - tiffany_fiber_start
)");

#else
#error \
    "There is no switch of our own for this processor: configure with -D TIFFANY_BOOST_CONTEXT=ON"
#endif

extern "C" void tiffany_fiber_start();

namespace tiffany::detail {

void prepare_context(Fiber& fiber, std::byte* top) noexcept {
  auto at = reinterpret_cast<std::uintptr_t>(top) & ~std::uintptr_t{15};
  FiberLayout::inside(fiber) = reinterpret_cast<void*>(at);
  FiberLayout::inside_pc(fiber) = reinterpret_cast<void*>(&tiffany_fiber_start);
  // rbx or x19; the frame pointer is null, where those end who follow frame pointers.
  FiberLayout::registers(fiber)[0] = &fiber;
}

}  // namespace tiffany::detail

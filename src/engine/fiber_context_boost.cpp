// The switch of Boost.Context, for processors that we have none of our own for.
#include <boost/context/detail/fcontext.hpp>

#include "fiber_context.hpp"

using boost::context::detail::fcontext_t;
using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;
using tiffany::detail::Fiber;
using tiffany::detail::FiberLayout;

namespace {

void start(transfer_t from) {
  Fiber& fiber = *Fiber::running();
  FiberLayout::outside(fiber) = from.fctx;
  tiffany_fiber_main(&fiber);
}

}  // namespace

void tiffany_fiber_enter(Fiber* fiber, std::uintptr_t signal, void**) noexcept {
  const transfer_t from =
      jump_fcontext(FiberLayout::inside(*fiber), reinterpret_cast<void*>(signal));
  FiberLayout::inside(*fiber) = from.fctx;
}

std::uintptr_t tiffany_fiber_leave(Fiber* fiber, void*) noexcept {
  const transfer_t from = jump_fcontext(FiberLayout::outside(*fiber), nullptr);
  FiberLayout::outside(*fiber) = from.fctx;
  return reinterpret_cast<std::uintptr_t>(from.data);
}

void tiffany::detail::prepare_context(Fiber& fiber, std::byte* top) noexcept {
  const StackPool::Stack& stack = fiber.stack();
  FiberLayout::inside(fiber) =
      make_fcontext(top, static_cast<std::size_t>(top - stack.low), &start);
}

// A callable with its arguments, as a spawned task keeps them: what spawn() stores, and refuses.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace tiffany {

namespace detail {

template <class T>
struct IsBorrowed : std::false_type {};
template <class C, class Tr>
struct IsBorrowed<std::basic_string_view<C, Tr>> : std::true_type {};
template <class T, std::size_t N>
struct IsBorrowed<std::span<T, N>> : std::true_type {};
template <class T>
struct IsBorrowed<std::initializer_list<T>> : std::true_type {};

template <class V>
struct Borrowed {
  V view;
  operator V() const noexcept { return view; }
};

template <class A>
constexpr void refuse_views() {
  static_assert(!IsBorrowed<A>::value,
                "spawn keeps its arguments, but this view does not own what it looks at, which may "
                "be gone when the task runs: pass the owner (std::string, std::vector), or "
                "borrowed(view) when it outlives the task");
}

// The parameters of a callable, where it has one signature; none known otherwise.
template <class... Ps>
struct Params {
  static constexpr bool known = true;
};
struct UnknownParams {
  static constexpr bool known = false;
};
template <class F>
struct SignatureOf {
  using type = UnknownParams;
};
template <class R, class... Ps>
struct SignatureOf<R (*)(Ps...)> {
  using type = Params<Ps...>;
};
template <class R, class... Ps>
struct SignatureOf<R (*)(Ps...) noexcept> {
  using type = Params<Ps...>;
};
// What an argument is passed as to a pointer to member function, for the object.
struct AnyObject {};
template <class M>
struct MemberParams {
  using call = UnknownParams;
  using pointer = UnknownParams;
};
#define TIFFANY_MEMBER_PARAMS(qualifiers)           \
  template <class R, class C, class... Ps>          \
  struct MemberParams<R (C::*)(Ps...) qualifiers> { \
    using call = Params<Ps...>;                     \
    using pointer = Params<AnyObject, Ps...>;       \
  };
TIFFANY_MEMBER_PARAMS()
TIFFANY_MEMBER_PARAMS(const)
TIFFANY_MEMBER_PARAMS(noexcept)
TIFFANY_MEMBER_PARAMS(const noexcept)
TIFFANY_MEMBER_PARAMS(&)
TIFFANY_MEMBER_PARAMS(const&)
TIFFANY_MEMBER_PARAMS(&&)
TIFFANY_MEMBER_PARAMS(& noexcept)
TIFFANY_MEMBER_PARAMS(const& noexcept)
#undef TIFFANY_MEMBER_PARAMS
template <class F>
  requires std::is_member_function_pointer_v<F>
struct SignatureOf<F> {
  using type = typename MemberParams<F>::pointer;
};
template <class F>
  requires requires { &F::operator(); }
struct SignatureOf<F> {
  using type = typename MemberParams<decltype(&F::operator())>::call;
};

template <class F>
struct SignatureOf<std::reference_wrapper<F>> : SignatureOf<std::remove_cv_t<F>> {};

// A reference wrapper binds as what it refers to.
template <class P, class A>
constexpr bool binds_directly() {
  using From = std::remove_reference_t<std::unwrap_reference_t<A>>;
  return std::is_convertible_v<From*, std::remove_reference_t<P>*>;
}

// As what an argument is stored. As what it is, unless the parameter is a reference that would have
// to be bound to a converted temporary, which would be gone when the task runs: then as what the
// parameter refers to.
template <class P, class A>
using Kept =
    std::conditional_t<std::is_reference_v<P> && !binds_directly<P, A>(), std::decay_t<P>, A>;

// A callable with its arguments. A class with a constructor, not a lambda: see the compiler notes.
template <class F, class... Args>
class BoundCall {
 public:
  template <class G, class... As>
  explicit BoundCall(std::in_place_t, G&& f, As&&... args)
      : f_(std::forward<G>(f)), args_(std::forward<As>(args)...) {}
  auto operator()() {
    return std::apply(
        [this](Args&... args) -> decltype(auto) {
          return std::invoke(std::move(f_), std::move(args)...);
        },
        args_);
  }

 private:
  [[no_unique_address]] F f_;
  [[no_unique_address]] std::tuple<Args...> args_;
};

template <class Signature, class F, class... Args>
struct ClosureOf {
  using type = BoundCall<F, Args...>;
};
template <class... Ps, class F, class... Args>
  requires(sizeof...(Ps) == sizeof...(Args))
struct ClosureOf<Params<Ps...>, F, Args...> {
  using type = BoundCall<F, Kept<Ps, Args>...>;
};

}  // namespace detail

}  // namespace tiffany

// The part of a Flow (durable/flow.hpp) for what others say to a durable task: signals, queries,
// updates, and waiting until something of that has changed what the code looks at.
//
//   Signal s = co_await flow.signal<Signal>("changed");
//   auto s = co_await flow.signal_within<Signal>(24h, "changed");        or TimedOut
//   auto s = co_await flow.begin_signal<Signal>("changed");              a handle of it, to race
//   const auto guard = flow.on_query(cart, [&] { return items; });
//   const auto guard = flow.on_update(add, [&](const Item& item) { return put(item); });
//   co_await flow.wait_until([&] { return paid && packed; });
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/time.hpp"
#include "tiffany/durable/calls.hpp"
#include "tiffany/durable/flow_guards.hpp"
#include "tiffany/durable/names.hpp"
#include "tiffany/durable/signal_calls.hpp"
#include "tiffany/durable/update.hpp"

namespace tiffany {

class FlowMessages {
 public:
  using Site = std::source_location;
  FlowMessages(const FlowMessages&) = delete;
  FlowMessages& operator=(const FlowMessages&) = delete;

  // ---- Signals ----

  // The next value that came under that name.
  template <class T>
  detail::SignalCall<T> signal(std::string name, Site site = Site::current()) {
    return detail::SignalCall<T>(*state_, std::move(name), site);
  }
  template <class T>
  detail::SignalCall<T> signal(const SignalName<T>& name, Site site = Site::current()) {
    return detail::SignalCall<T>(*state_, name.string(), site);
  }
  // Asks for the next value under that name and gives a handle, for races with timers, steps,
  // children and other signals. Handles of one name stand in a line, in the order in which they
  // were made. A handle that is dropped before a signal has come leaves the line; a signal that has
  // come and was not looked at goes back to its place in the mailbox. Crash: the handle is asked
  // for again, and gets the same signal.
  template <class T>
  auto begin_signal(std::string name, Site site = Site::current()) {
    detail::require_signal_name(name);
    return detail::HandleCall<T>(*state_, &detail::issue_signal, std::move(name), std::string(),
                                 site);
  }
  // The next value, or TimedOut when none has come after so long: what within() gives elsewhere.
  template <class T>
  detail::SignalWithin<T> signal_within(Duration longest, std::string name,
                                        Site site = Site::current()) {
    return detail::SignalWithin<T>(*state_, std::move(name), longest, site);
  }
  template <class T>
  detail::SignalWithin<T> signal_within(Duration longest, const SignalName<T>& name,
                                        Site site = Site::current()) {
    return detail::SignalWithin<T>(*state_, name.string(), longest, site);
  }

  // ---- Conditions ----

  // Until `condition` is true. It is asked at once, and again after everything that comes to the
  // task: results, signals, updates. It looks at variables of the code and at handles (arrived()),
  // and changes nothing. No record is made; after a crash it is true at the same place.
  template <class F>
  detail::WaitUntil<std::decay_t<F>> wait_until(F&& condition, Site site = Site::current()) {
    require_condition<F>();
    return detail::WaitUntil<std::decay_t<F>>(*state_, std::forward<F>(condition), site);
  }
  // The same, and meanwhile handlers of updates that wait are called, one at a time; `condition` is
  // asked between them. Crash: a handler that was under way goes on where it was.
  template <class F>
  Durable<void> serve(F&& condition) {
    require_condition<F>();
    return detail::serve_updates(*state_, std::function<bool()>(std::forward<F>(condition)));
  }

  // ---- Queries and updates ----

  // Answers Host::query(task, name) until the guard goes: keep the guard in the scope of what
  // `answer` refers to. Of several guards of one name the youngest answers. A query that nobody
  // answers any more is an Error (unknown_durable).
  using Query = FlowQuery;
  [[nodiscard(
      "the query is answered until this guard goes: const auto guard = flow.on_query(...)")]]
  Query on_query(std::string name, std::function<std::string()> answer);
  // With the type of the answer, which is recorded nowhere.
  template <class T, class F>
  [[nodiscard("the query is answered until this guard goes: keep it")]]
  Query on_query(const QueryName<T>& name, F answer) {
    static_assert(std::is_invocable_r_v<T, F&>, "the answer is not of the type of the query");
    return on_query(name.string(),
                    [answer = std::move(answer)] { return to_json(static_cast<T>(answer())); });
  }

  // Handles updates of that name until the guard goes; durable/update.hpp has what a validator and
  // a handler may do. Of several guards of one name the youngest does. An update that has come and
  // that nobody handles waits until somebody does, over checkpoints, or until the task has ended.
  // Crash: a handler is called again where it was called, and its answer is compared with the log.
  using Update = FlowUpdate;
  template <class Q, class A, class F>
  [[nodiscard("updates are handled until this guard goes: keep it")]]
  Update on_update(const UpdateName<Q, A>& name, F handler, Site site = Site::current()) {
    return detail::add_update(*state_, name.string(), detail::make_update<Q, A>(std::move(handler)),
                              site);
  }
  template <class Q, class A, class V, class F>
  [[nodiscard("updates are handled until this guard goes: keep it")]]
  Update on_update(const UpdateName<Q, A>& name, V validator, F handler,
                   Site site = Site::current()) {
    static_assert(std::is_invocable_v<V&, const Q&>,
                  "a validator takes the request, and throws to refuse it");
    detail::UpdateHandler made = detail::make_update<Q, A>(std::move(handler));
    made.check = [validator = std::move(validator)](const std::string& request) mutable {
      validator(from_json<Q>(request));
    };
    return detail::add_update(*state_, name.string(), std::move(made), site);
  }

 protected:
  explicit FlowMessages(FlowState& state) noexcept : state_(&state) {}
  ~FlowMessages() = default;

  FlowState* state_;

 private:
  template <class F>
  static constexpr void require_condition() {
    static_assert(std::is_invocable_r_v<bool, F&>, "a condition takes nothing and gives a bool");
    static_assert(!detail::owns_captures<F>(),
                  "a condition captures by reference: write [&], or keep the callable in a "
                  "variable and pass that (GCC 12 destroys owning captures twice)");
  }
};

}  // namespace tiffany

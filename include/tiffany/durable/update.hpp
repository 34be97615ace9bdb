// Updates: requests to a durable task that it may refuse, and whose answers are recorded.
//
//   inline constexpr UpdateName<Item, int> add{"add"};
//
//   const auto adds = flow.on_update(                                       // in the task
//       add, [&](const Item& item) { if (item.count < 1) throw std::invalid_argument("none"); },
//       [&](const Item& item) { items.push_back(item); return total(items); });
//
//   const int total = co_await host.update(id, add, item, update_id);       // outside
//
// Use a signal for what needs no answer, and a query for what changes nothing.
//
// The validator is called when the request comes, before anything is recorded: what it throws
// refuses the update (Errc::update_refused). It looks at the variables of the code, and changes
// nothing. The handler is called when the request is on the disk and the code waits, in the order
// of arrivals, and once more at the same place in every replay: it changes variables of the code,
// and what it throws is the answer, too. The caller hears the answer when that is on the disk.
//
// A handler that waits is a coroutine, Durable<A>(Q). It may await steps and everything else of the
// flow but a checkpoint, and is called where the code awaits Flow::serve, one at a time.
//
// Crash: an update that was not answered may be in the log or not; asked again with the same id, it
// is done once, and gives the same answer as long as it is among the last kAnswersKept of the task.
#pragma once

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include "tiffany/base/codec.hpp"
#include "tiffany/durable/durable.hpp"
#include "tiffany/durable/flow_guards.hpp"
#include "tiffany/durable/value.hpp"

namespace tiffany::detail {

// What a task does with updates of one name. `handle` or `begin` is there, and not both.
struct UpdateHandler {
  const ValueType* request = nullptr;
  std::source_location site{};                            // where it was given
  std::function<void(const std::string& request)> check;  // empty: nothing is refused
  std::function<std::string(FlowState&, const std::string& request)> handle;
  std::function<Durable<std::string>(FlowState&, const std::string& request)> begin;
};

FlowUpdate add_update(FlowState& flow, std::string name, UpdateHandler handler,
                      const std::source_location& site);

template <class T>
inline constexpr bool kIsDurable = false;
template <class T>
inline constexpr bool kIsDurable<Durable<T>> = true;

template <class Q>
Q update_request(FlowState& flow, const std::string& json) {
  return decode<Q>(flow, json, [] { return "the request of an update"; });
}

// The handler is kept as long as it runs: its guard may go meanwhile.
template <class A, class Q, class F>
Durable<std::string> run_update(std::shared_ptr<F> handler, Q request) {
  if constexpr (std::is_void_v<A>) {
    co_await (*handler)(std::move(request));
    co_return "null";
  } else {
    const A answer = co_await (*handler)(std::move(request));
    co_return to_json(answer);
  }
}

template <class Q, class A, class F>
UpdateHandler make_update(F handler) {
  static_assert(std::is_invocable_v<F&, Q>, "the handler of an update takes its request");
  using Given = std::invoke_result_t<F&, Q>;
  auto kept = std::make_shared<F>(std::move(handler));
  UpdateHandler made;
  made.request = &kValueType<Q>;
  if constexpr (kIsDurable<Given>) {
    static_assert(std::is_same_v<Given, Durable<A>>,
                  "the handler of an update that waits is a Durable of the answer");
    made.begin = [kept](FlowState& flow, const std::string& json) {
      return run_update<A>(kept, update_request<Q>(flow, json));
    };
  } else {
    static_assert(std::is_void_v<A> || std::is_invocable_r_v<A, F&, Q>,
                  "the handler of an update gives its answer");
    made.handle = [kept](FlowState& flow, const std::string& json) -> std::string {
      Q request = update_request<Q>(flow, json);
      if constexpr (std::is_void_v<A>) {
        static_cast<void>((*kept)(std::move(request)));
        return "null";
      } else {
        return to_json(static_cast<A>((*kept)(std::move(request))));
      }
    };
  }
  return made;
}

// Flow::serve.
Durable<void> serve_updates(FlowState& flow, std::function<bool()> until);

}  // namespace tiffany::detail

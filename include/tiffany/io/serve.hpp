// A server: one task for each connection, and no connection can end the others.
//
//   Task<void> echo(Socket client) { ... }
//
//   Listener listener = Listener::bind(Address::loopback(7000));
//   co_await serve(listener, echo);
//
// Arguments behind the handler go to each call of it: `serve(listener, chat, &rooms)` calls
// `chat(std::move(client), &rooms)`. The handler is copied into the server, its arguments for each
// connection.
//
// What goes wrong stays where it belongs:
//   - A handler that fails (a reset, a protocol error) is reported to the log and counted (scope
//     policy report_failures); the others go on, and nothing is kept of it.
//   - Out of descriptors or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM), or a limit on tasks is
//     reached: the server says so in the log, takes no connection for a moment, and goes on. The
//     clients wait in the backlog of the kernel.
//   - A connection that was reset before it was accepted is forgotten.
//   - Every other error of accept(), which would come again and again, is thrown.
//
// The end. After listener.close(), in whatever task, no connection is taken any more, and serve()
// returns when the handlers that run have ended.
//
// Cancel. Before start and while parked: every handler is cancelled and joined, then Cancelled goes
// on; a connection that has been accepted is closed. After completion: the next suspension throws.
#pragma once

#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>

#include "tiffany/core/guard.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/sync/semaphore.hpp"

namespace tiffany {

class ServeOptions {
 public:
  ServeOptions() noexcept = default;
  // At most so many connections at a time; further ones wait in the backlog. Default: as many as
  // there are descriptors.
  ServeOptions&& most(std::size_t connections) && noexcept {
    most_ = connections;
    return std::move(*this);
  }
  std::size_t most() const noexcept { return most_; }

 private:
  std::size_t most_ = std::size_t{1} << 30;
};

namespace detail {

// The accepting half of serve().
class Acceptor {
 public:
  Acceptor(Listener& listener, const ServeOptions& options);

  // The next connection, or an empty Socket when the listener was closed.
  Task<Socket> next();
  // No further connection can be taken now. Says so once, and waits a moment: longer each time.
  Task<void> pause(std::string why);
  // A connection has its task.
  void took();
  Semaphore& places() noexcept { return places_; }

 private:
  Listener* listener_;
  std::string name_;
  Semaphore places_;
  unsigned pauses_ = 0;  // since a connection was taken
};

template <class F, class... Args>
Task<void> serve_one(Semaphore::Permit place, F handler, Socket client, Args... args) {
  const Semaphore::Permit taken = std::move(place);
  co_await handler(std::move(client), std::move(args)...);
}

template <class F, class... Args>
Task<void> serve_all(Listener* listener, ServeOptions options, F handler, Args... args) {
  Acceptor acceptor(*listener, options);
  co_await scope(report_failures, [&](Scope& clients) -> Task<void> {
    for (;;) {
      Semaphore::Permit place = co_await acceptor.places().acquire();
      Socket client = co_await acceptor.next();
      if (!client) co_return;
      std::string denied;
      try {
        clients.spawn(serve_one<F, Args...>, std::move(place), handler, std::move(client), args...);
      } catch (const SpawnDenied& error) {
        denied = error.what();
      }
      if (denied.empty()) {
        acceptor.took();
      } else {
        co_await acceptor.pause(std::move(denied));
      }
    }
  });
}

}  // namespace detail

// The listener must outlive the call. See above.
template <class F, class... Args>
  requires(!std::is_same_v<std::decay_t<F>, ServeOptions>)
Task<void> serve(Listener& listener, ServeOptions options, F&& handler, Args&&... args) {
  static_assert(std::is_invocable_v<std::decay_t<F>&, Socket, std::decay_t<Args>...>,
                "the handler of serve() is called as handler(Socket, args...), with the arguments "
                "that were given to serve()");
  static_assert(
      std::is_lvalue_reference_v<F> || std::is_trivially_destructible_v<std::decay_t<F>>,
      "the handler of serve() is a function, or a lambda that captures nothing or by "
      "reference; pass what it owns as arguments, or keep the lambda in a variable (GCC 12 "
      "destroys owning captures twice in an awaited expression)");
  return detail::serve_all<std::decay_t<F>, std::decay_t<Args>...>(
      &listener, std::move(options), std::forward<F>(handler), std::forward<Args>(args)...);
}
template <class F, class... Args>
  requires(!std::is_same_v<std::decay_t<F>, ServeOptions>)
Task<void> serve(Listener& listener, F&& handler, Args&&... args) {
  return serve(listener, ServeOptions(), std::forward<F>(handler), std::forward<Args>(args)...);
}

}  // namespace tiffany

// Events on a unix socket: one JSON object a line, for whoever connects.
//
//   Listener listener = Listener::bind(Address::unix_path("/run/shop/pal"));
//   co_await observe::serve_pal(pal, listener);
//
//   $ echo '{"task":"6d0f...","kinds":["agent"]}' | nc -U /run/shop/pal
//
// A client sends one line, its request: a JSON object with "task" (only that channel), "kinds"
// (some of "agent", "sched", "runtime"; without it agent and runtime) and "after" (the id of the
// last frame that it has seen), each of which may be missing; an empty line asks for everything of
// agents and the runtime. It then gets frames (observe/pal.hpp) until it closes the connection. A
// request that is not understood, or that does not come within ten seconds, is answered with
// {"type":"error","message":...}, and the connection is closed.
//
// A client says nothing behind its request; what it says all the same ends the connection, as does
// its end, which is noticed at once. A client that does not read loses events and disturbs nobody
// else.
//
// The end: as for serve() (io/serve.hpp).
#pragma once

#include "tiffany/engine/task.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/observe/pal.hpp"

namespace tiffany::observe {

// Both outlive the call.
Task<void> serve_pal(Pal& pal, Listener& listener);

// The request as a filter. Throws an Error whose sentence says what is not understood.
struct PalRequest {
  PalFilter filter{};
  std::string after{};
  static PalRequest parse(std::string_view line);
};

}  // namespace tiffany::observe

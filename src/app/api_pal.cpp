// Events as they happen (SSE).
#include <chrono>
#include <string>
#include <utility>

#include "app/api.hpp"
#include "serve/comma_list.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/serve/websocket.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/structure/combine.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;

observe::PalFilter pal_filter_of(const ApiCall& call) {
  observe::PalFilter filter;
  if (const auto task = call.query("task")) {
    filter.task = Uuid::parse(*task);
    if (!filter.task) throw HttpError(400, "task is \"" + *task + "\", which is no whole UUID.");
  }
  const auto kinds = call.query("kind");
  if (!kinds) return filter;
  filter.agent = filter.runtime = filter.sched = false;
  for_each_listed(*kinds, [&](std::string_view word) {
    if (word == "agent") {
      filter.agent = true;
    } else if (word == "runtime") {
      filter.runtime = true;
    } else if (word == "sched") {
      filter.sched = true;
    } else {
      throw HttpError(400, "kind has \"" + std::string(word) + "\": say agent, runtime or sched.");
    }
  });
  return filter;
}

std::string_view event_name(observe::PalFrame::Type type) noexcept {
  switch (type) {
    case observe::PalFrame::Type::snapshot:
      return "snapshot";
    case observe::PalFrame::Type::event:
      return "pal";
    case observe::PalFrame::Type::lagged:
      return "lagged";
  }
  return "";
}

void add_event(std::string& text, const observe::PalFrame& frame) {
  if (!frame.id.empty()) {
    text += "id: ";
    text += frame.id;
    text += '\n';
  }
  text += "event: ";
  text += event_name(frame.type);
  text += "\ndata: ";
  text += *frame.text;
  text += "\n\n";
}

// Then something is said although nothing happens, so that both sides notice when the other's
// machine is gone.
constexpr auto kSilence = std::chrono::seconds(15);

// Until the hub is gone.
Task<void> tell_events(http::Exchange& exchange, observe::PalSubscription& events) {
  std::string text = "retry: 1000\n\n";
  for (;;) {
    while (std::optional<observe::PalFrame> more = events.try_next()) add_event(text, *more);
    try {
      co_await exchange.write(text);
    } catch (const IoError&) {
      co_return;  // the client has left, perhaps before closed() tells: no failure
    }
    std::string().swap(text);  // while nothing happens, a stream holds no memory for it
    auto next = co_await within(kSilence, events.next());
    if (next.timed_out()) {
      text = ": still here\n\n";
      continue;
    }
    const std::optional<observe::PalFrame> frame = std::move(next).value();
    if (!frame) co_return;
    add_event(text, *frame);
  }
}

Task<void> read_until_closed(http::WebSocket& socket) {
  for (bool there = true; there;) {
    const std::optional<std::string> said = co_await socket.receive();
    there = said.has_value();
  }
}

// The same as messages.
Task<void> tell_messages(http::WebSocket& socket, observe::PalSubscription& events) {
  for (;;) {
    auto next = co_await within(kSilence, events.next());
    if (next.timed_out()) {
      co_await socket.ping();
      continue;
    }
    const std::optional<observe::PalFrame> frame = std::move(next).value();
    if (!frame) break;
    co_await socket.send(*frame->text);
  }
  co_await socket.close(http::WebSocketEnd::going_away, "the daemon ends");
}

}  // namespace

namespace calls {

Task<void> pal_events(ApiCall& call) {
  const std::string after(call.request().headers.find("last-event-id").value_or(""));
  observe::PalSubscription events =
      call.api.parts.pal.subscribe(pal_filter_of(call), call.query("after").value_or(after));
  http::Response head(200);
  head.headers.set("content-type", "text/event-stream");
  head.headers.set("cache-control", "no-store");
  head.headers.set("x-content-type-options", "nosniff");
  http::Exchange& exchange = call.exchange();
  co_await exchange.begin(std::move(head));
  co_await race(tell_events(exchange, events), exchange.closed());
}

// The same frames, each a message that is one JSON object. What the client says is not looked at.
Task<void> pal_socket(ApiCall& call) {
  constexpr std::size_t kLongestOfClient = 4096;
  observe::PalSubscription events =
      call.api.parts.pal.subscribe(pal_filter_of(call), call.query("after").value_or(""));
  http::WebSocketLimits limits;
  limits.message = kLongestOfClient;
  const auto socket = co_await http::accept_websocket(call.exchange(), limits);
  co_await race(tell_messages(*socket, events), read_until_closed(*socket));
}

}  // namespace calls

}  // namespace tiffany::app

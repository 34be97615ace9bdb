// An HTTP/1.1 server: one task for each connection, one call of the handler for each request.
//
//   class Hello : public http::Handler {
//     Task<void> handle(http::Exchange& exchange) override {
//       co_await exchange.respond(http::Response(200, "text/plain", "hello\n"));
//     }
//   };
//
//   Hello hello;
//   http::Server server(hello);
//   Listener listener = Listener::bind(Address::loopback(8080));
//   co_await server.serve(listener);
//
// Connections are kept open for further requests, which may be sent before the answers to those
// before them; answers come in the order of the requests. Everything has a bound (Limits): the head
// and the body of a request, how long a client may take for either, how long it may not read its
// answer, how long a connection may be idle, and how many there are. Beyond a bound a request is
// answered with 408, 413 or 431 where that is still possible, and the connection is closed.
//
// A handler that throws an HttpError has answered with its status and sentence; one that throws
// anything else, or answers nothing, has answered 500, and what it threw is reported as a failure
// of its task. When a part of the answer has been sent already, the connection is reset instead.
// A handler belongs to its connection: when the client goes while it runs, its next write throws.
//
// The end: server.stop() closes idle connections, lets others finish the request they are at, and
// serve() returns. Cancel: as for serve() of io/serve.hpp.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "tiffany/base/time.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/io/any_stream.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/serve/http.hpp"
#include "tiffany/sync/event.hpp"

namespace tiffany::http {

class Limits {
 public:
  Limits() = default;
  std::size_t head = std::size_t{16} << 10;        // bytes
  std::size_t body = std::size_t{1} << 20;         // bytes
  Duration head_time = std::chrono::seconds(10);   // from its first byte to its last
  Duration body_time = std::chrono::seconds(30);   // without a byte of it
  Duration write_time = std::chrono::seconds(30);  // without the client reading a byte
  Duration idle_time = std::chrono::seconds(60);   // between two requests
  std::uint64_t requests = 100'000;                // on one connection
  std::size_t connections = 10'000;                // at a time; others wait in the backlog
  // Of one connection, that are handled at a time when they were sent behind one another. Their
  // answers are sent in their order.
  std::size_t pipelined = 256;
};

// Who is at the other end of a connection, as far as the operating system knows.
class Peer {
 public:
  Peer() = default;
  explicit Peer(const Socket& socket);
  std::string address{};                // "127.0.0.1:50312"; empty: of a unix socket, or unknown
  bool local = false;                   // a unix socket
  std::optional<std::uint32_t> user{};  // of a unix socket: whose process connected
  std::optional<std::int32_t> process{};
};

namespace detail {
class AnswerLine;
}

// The place of an answer among others of its connection.
struct InLine {
  detail::AnswerLine* line = nullptr;  // null: there are no others
  std::uint64_t number = 0;
};

// One request and its answer.
class Exchange {
 public:
  Exchange(AnyStream& stream, Request request, const Limits& limits, bool last, const Peer& peer,
           std::string* rest = nullptr, InLine line = InLine()) noexcept
      : stream_(stream),
        request_(std::move(request)),
        limits_(limits),
        peer_(peer),
        rest_(rest),
        line_(line),
        last_(last) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const Request& request() const noexcept { return request_; }
  const Peer& peer() const noexcept { return peer_; }

  // The whole answer. Once; a second one is an Error (Errc::bad_argument).
  Task<void> respond(Response response);
  // Or piece by piece, each of which is sent at once (chunked): begin, write..., and the end is
  // where the handler returns. To a client of HTTP/1.0, until the connection closes.
  Task<void> begin(Response head);
  Task<void> write(std::string_view piece);
  // Returns when the client has closed its end of the connection, or sends more meanwhile than a
  // head may have. For the handler of a long stream, beside its writes:
  //   co_await race(send_events(exchange), exchange.closed());
  // Not behind upgrade(): whoever has the stream reads it. Cancel. Before start and while parked:
  // nothing that has come is lost. After completion: the next suspension throws.
  Task<void> closed();

  // Or another protocol: answers 101 with these headers, and gives the connection, with what has
  // come already behind the request. It ends with the handler.
  struct Upgraded {
    AnyStream& stream;
    std::string rest;
  };
  Task<Upgraded> upgrade(Headers headers);

  bool begun() const noexcept { return begun_; }
  // The connection ends behind this answer.
  void close_after() noexcept { last_ = true; }

  // For the server.
  Task<void> finish();
  bool last() const noexcept { return last_; }
  bool streaming() const noexcept { return streaming_; }
  bool upgraded() const noexcept { return upgraded_; }

 private:
  std::string head_of(const Response& response) const;
  Task<void> send(std::string_view bytes);

  AnyStream& stream_;
  Request request_;
  const Limits& limits_;
  const Peer& peer_;
  std::string* rest_;
  InLine line_;
  bool last_;
  bool begun_ = false;
  bool streaming_ = false;
  bool chunked_ = false;
  bool upgraded_ = false;
};

class Handler {
 public:
  virtual ~Handler() = default;
  // The exchange lives until the task that is returned has ended.
  virtual Task<void> handle(Exchange& exchange) = 0;
  // Of requests that a client has sent behind one another: those that follow each other and say the
  // same here are handled at a time, all others one after another. 0: never with another.
  virtual int beside(const Request& request) const {
    return request.method == "GET" || request.method == "HEAD" ? 1 : 0;
  }
};

class Server {
 public:
  // The handler outlives the server.
  explicit Server(Handler& handler, Limits limits = Limits())
      : handler_(handler), limits_(limits) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // May be called for several listeners at a time.
  Task<void> serve(Listener& listener);
  // What becomes of a connection before its first request, such as a handshake; nothing: it is
  // closed. The function outlives the call.
  using Greeting = std::function<Task<std::optional<AnyStream>>(Socket)>;
  Task<void> serve(Listener& listener, const Greeting& greeting);
  // One connection, of any kind (TLS, a pipe), until its end.
  Task<void> serve_stream(AnyStream stream, Peer peer = Peer());
  void stop() noexcept;
  // Returns when it was stopped and the last connection has ended. May be cancelled.
  Task<void> drained();

  std::uint64_t requests() const noexcept { return requests_; }
  std::size_t connections() const noexcept { return connections_; }

 private:
  class Connection;
  void note_drained() noexcept;

  Handler& handler_;
  Limits limits_;
  std::unordered_set<Listener*> listeners_;
  std::unordered_set<AnyStream*> idle_;
  std::uint64_t requests_ = 0;
  std::size_t connections_ = 0;
  bool stopping_ = false;
  ManualResetEvent drained_;
};

}  // namespace tiffany::http

#include "tiffany/serve/http_server.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "serve/http_parser.hpp"
#include "tiffany/base/calendar.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/serve.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/sync/semaphore.hpp"

namespace tiffany::http {

namespace {

// The client is gone, or too slow: there is nobody to answer.
class ClientGone : public Error {
 public:
  explicit ClientGone(const std::string& why) : Error(Errc::io_failed, why) {}
};

// "Tue, 17 Nov 2026 09:30:00 GMT"; empty in a world without a wall clock.
std::string date_text() {
  const auto now = World::current().wall_clock_us();
  if (!now) return "";
  constexpr std::array<const char*, 7> kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array<const char*, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::int64_t seconds = *now / 1'000'000;
  const std::int64_t days = seconds / kSecondsOfDay;
  const auto of_day = static_cast<int>(seconds % kSecondsOfDay);
  const Date date = date_of(days);
  char text[40];
  std::snprintf(text, sizeof text, "%s, %02u %s %04d %02d:%02d:%02d GMT", kDays[weekday_of(days)],
                date.day, kMonths[date.month - 1], static_cast<int>(date.year), of_day / 3600,
                of_day / 60 % 60, of_day % 60);
  return text;
}

bool has_no_body(int status) noexcept { return status < 200 || status == 204 || status == 304; }

std::string_view sentence_of_status(int status) noexcept {
  const std::string_view reason = reason_of(status);
  return reason.empty() ? std::string_view("Unknown") : reason;
}

}  // namespace

// ---- Answers ----

std::string Exchange::head_of(const Response& response) const {
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head += sentence_of_status(response.status);
  head += "\r\n";
  for (const auto& [name, value] : response.headers) {
    // What is about the message and not about its content is ours.
    if (same_name(name, "content-length") || same_name(name, "transfer-encoding") ||
        same_name(name, "connection")) {
      continue;
    }
    head += name + ": " + value + "\r\n";
  }
  if (!response.headers.has("date")) {
    if (const std::string date = date_text(); !date.empty()) head += "date: " + date + "\r\n";
  }
  if (last_) head += "connection: close\r\n";
  return head;
}

Task<void> Exchange::send(std::string_view bytes) {
  if (line_.turn != nullptr) {
    co_await line_.turn->wait();
    if (*line_.over) throw ClientGone("The connection has ended before this answer.");
  }
  // The bound is for no progress at all, so what is long is sent in parts.
  constexpr std::size_t kPart = std::size_t{256} << 10;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kPart);
    const auto sent = co_await within(limits_.write_time, stream_.write(part));
    if (sent.timed_out()) throw ClientGone("A client did not read its answer in time.");
    bytes.remove_prefix(part.size());
  }
}

Task<void> Exchange::respond(Response response) {
  if (begun_) throw Error(Errc::bad_argument, "A request was answered twice.");
  begun_ = true;
  std::string text = head_of(response);
  if (!has_no_body(response.status)) {
    text += "content-length: " + std::to_string(response.body.size()) + "\r\n";
  }
  text += "\r\n";
  if (request_.method != "HEAD" && !has_no_body(response.status)) text += response.body;
  co_await send(text);
}

Task<void> Exchange::begin(Response head) {
  if (begun_) throw Error(Errc::bad_argument, "A request was answered twice.");
  begun_ = true;
  streaming_ = true;
  chunked_ = !request_.old;
  if (!chunked_) last_ = true;  // the end of the connection is the end of the answer
  std::string text = head_of(head);
  if (chunked_) text += "transfer-encoding: chunked\r\n";
  text += "\r\n";
  co_await send(text);
}

Task<void> Exchange::write(std::string_view piece) {
  if (!streaming_)
    throw Error(Errc::bad_argument, "A piece of an answer was written before begin().");
  if (piece.empty() || request_.method == "HEAD") co_return;  // an empty chunk would be the end
  if (!chunked_) {
    co_await send(piece);
    co_return;
  }
  char size[24];
  const int length = std::snprintf(size, sizeof size, "%zx\r\n", piece.size());
  std::string text(size, static_cast<std::size_t>(length));
  text += piece;
  text += "\r\n";
  co_await send(text);
}

Task<Exchange::Upgraded> Exchange::upgrade(Headers headers) {
  if (begun_) throw Error(Errc::bad_argument, "A request was answered twice.");
  begun_ = true;
  std::string text = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\n";
  for (const auto& [name, value] : headers) text += name + ": " + value + "\r\n";
  text += "\r\n";
  last_ = true;
  upgraded_ = true;
  co_await send(text);
  co_return Upgraded{stream_, rest_ != nullptr ? std::move(*rest_) : std::string()};
}

Task<void> Exchange::finish() {
  if (streaming_ && chunked_ && request_.method != "HEAD") co_await send("0\r\n\r\n");
}

// ---- Connections ----

class Server::Connection {
 public:
  Connection(Server& server, AnyStream stream, Peer peer)
      : server_(server), stream_(std::move(stream)), peer_(std::move(peer)) {
    ++server_.connections_;
  }
  ~Connection() {
    server_.idle_.erase(&stream_);
    --server_.connections_;
    server_.note_drained();
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Task<void> run() {
    while (!server_.stopping_) {
      std::optional<Request> request = std::exchange(held_, std::nullopt);
      if (!request) request = co_await come();
      if (!request) break;
      const bool last = is_last(*request);
      if (!last && !buffer_.empty() && !changes_protocol(*request)) {
        co_await run_pipelined(std::move(*request));
        if (over_ || refused_) break;  // where a next request would begin is not known
        continue;
      }
      Exchange exchange(stream_, std::move(*request), server_.limits_, last, peer_, &buffer_);
      const bool more = co_await answer(exchange);
      if (!more) break;
    }
    if (refused_) co_await refuse(*refused_);
    if (!gone_) co_await say_goodbye();
  }

 private:
  bool is_last(const Request& request) {
    return !request.keep_alive || ++count_ >= server_.limits_.requests;
  }

  // What comes behind such a request is perhaps none.
  static bool changes_protocol(const Request& request) { return request.headers.has("upgrade"); }

  // The next request; nothing when there will be none, with refused_ if there was something else.
  Task<std::optional<Request>> come() {
    std::optional<Request> request;
    try {
      request = co_await next_request();
      if (request) ++server_.requests_;
    } catch (const HttpError& error) {
      refused_ = error;
    } catch (const IoError&) {
      over_ = gone_ = true;
    }
    co_return request;
  }

  // Requests that came behind one another, until all that has come is answered. Handled at a time
  // are those that the handler lets: what changes something may be what the next depends on.
  Task<void> run_pipelined(Request first) {
    auto turn = std::make_shared<ManualResetEvent>(true);
    Semaphore places(std::max<std::size_t>(1, server_.limits_.pipelined));
    std::optional<Request> request = std::move(first);
    bool last = false;
    int kind = server_.handler_.beside(*request);
    co_await scope([&](Scope& handlers) -> Task<void> {
      for (;;) {
        Semaphore::Permit place = co_await places.acquire();
        const int own = server_.handler_.beside(*request);
        if (own == 0 || own != kind) co_await turn->wait();
        kind = own;
        if (over_) break;
        auto next = std::make_shared<ManualResetEvent>(false);
        handlers.spawn(&Connection::answer_in_line, this, std::move(*request), last, turn, next,
                       std::move(place));
        turn = std::move(next);
        answering_ = turn;
        if (last || buffer_.empty() || server_.stopping_) break;
        request = co_await come();
        if (!request) break;
        if (changes_protocol(*request)) {
          held_ = std::move(request);
          break;
        }
        last = is_last(*request);
      }
    });
    answering_.reset();
    if (last) over_ = true;
  }
  Task<void> answer_in_line(Request request, bool last, std::shared_ptr<ManualResetEvent> turn,
                            std::shared_ptr<ManualResetEvent> next, Semaphore::Permit place) {
    const Semaphore::Permit taken = std::move(place);
    // Set also when this fails: those behind it are cancelled by their scope, or find out.
    struct Passed {
      ManualResetEvent& event;
      ~Passed() { event.set(); }
    };
    const Passed passed{*next};
    Exchange exchange(stream_, std::move(request), server_.limits_, last, peer_, &buffer_,
                      InLine{turn.get(), &over_});
    const bool more = co_await answer(exchange);
    co_await turn->wait();
    if (!more) over_ = true;
  }

  // Nothing: the connection was closed, or nothing came for too long.
  Task<std::optional<Request>> next_request() {
    detail::ParserLimits bounds;
    bounds.head = server_.limits_.head;
    bounds.body = server_.limits_.body;
    detail::MessageParser parser(detail::MessageParser::Side::request, bounds);
    bool continued = false;
    Time head_due{};
    for (;;) {
      while (!buffer_.empty() && !parser.complete()) {
        const std::size_t taken = parser.take(buffer_);
        if (taken == 0) break;
        buffer_.erase(0, taken);
      }
      if (parser.complete()) {
        body_room_ = std::vector<char>();
        co_return parser.request();
      }
      if (!continued && parser.expects_continue()) {
        continued = true;
        if (answering_ != nullptr) co_await answering_->wait();
        co_await within(server_.limits_.write_time,
                        stream_.write(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")));
      }
      const bool nothing = buffer_.empty() && !parser.head_complete();
      Duration longest = server_.limits_.body_time;
      if (nothing) {
        longest = server_.limits_.idle_time;
        head_due = Time{};
      } else if (!parser.head_complete()) {
        const Time now = Scheduler::require("an HTTP server").deadline_in(Duration::zero());
        if (head_due == Time{}) head_due = now + server_.limits_.head_time;
        if (now >= head_due) throw HttpError(408, "The head of the request took too long.");
        longest = head_due - now;
      }
      if (nothing) server_.idle_.insert(&stream_);
      // A connection that waits for a request is small; a body is read in large pieces.
      std::array<char, 2048> small;
      if (parser.head_complete() && body_room_.empty()) body_room_.resize(kBodyRoom);
      const std::span<char> room =
          parser.head_complete() ? std::span<char>(body_room_) : std::span<char>(small);
      const auto came = co_await within(longest, stream_.read(room));
      server_.idle_.erase(&stream_);
      if (came.timed_out()) {
        if (nothing) co_return std::nullopt;
        throw HttpError(408, "The request took too long.");
      }
      if (came.value() == 0) {
        if (nothing) co_return std::nullopt;
        throw HttpError(400, "The connection ended in the middle of a request.");
      }
      buffer_.append(room.data(), came.value());
    }
  }

  // False: the connection is over.
  Task<bool> answer(Exchange& exchange) {
    std::optional<HttpError> refused;
    std::exception_ptr failed;
    try {
      co_await server_.handler_.handle(exchange);
      if (!exchange.begun()) {
        refused.emplace(500, "The server has no answer to this request.");
      }
    } catch (const ClientGone&) {
      gone_ = true;
      co_return false;
    } catch (const IoError&) {
      if (exchange.begun()) {  // most likely of this connection
        gone_ = true;
        co_return false;
      }
      failed = std::current_exception();
    } catch (const HttpError& error) {
      refused = error;
      if (exchange.begun()) failed = std::current_exception();
    } catch (const Cancelled&) {
      throw;
    } catch (...) {
      failed = std::current_exception();
    }
    // What was begun cannot be taken back: the client must see that it is not whole.
    if (failed != nullptr && exchange.begun()) std::rethrow_exception(failed);
    if (failed != nullptr) refused.emplace(500, "The server failed to answer this request.");
    try {
      if (refused) {
        if (failed != nullptr) exchange.close_after();
        co_await exchange.respond(Response(refused->status(), "text/plain; charset=utf-8",
                                           std::string(refused->what()) + "\n"));
      } else {
        co_await exchange.finish();
      }
    } catch (const ClientGone&) {
      gone_ = true;
      co_return false;
    } catch (const IoError&) {
      gone_ = true;
      co_return false;
    }
    if (failed != nullptr) std::rethrow_exception(failed);  // reported by the scope of the server
    co_return !exchange.last();
  }

  // A request that is none, or beyond a bound: answered, and the connection is over.
  Task<void> refuse(const HttpError& error) {
    Request unknown;
    unknown.keep_alive = false;
    Exchange exchange(stream_, std::move(unknown), server_.limits_, true, peer_);
    try {
      co_await exchange.respond(
          Response(error.status(), "text/plain; charset=utf-8", std::string(error.what()) + "\n"));
    } catch (const ClientGone&) {
      gone_ = true;
    } catch (const IoError&) {
      gone_ = true;
    }
  }
  // Closing while something of the client is unread would reset the connection, and the last words
  // with it.
  Task<void> say_goodbye() {
    try {
      co_await stream_.finish_writing();
      co_await within(std::chrono::seconds(1), read_away());
    } catch (const IoError&) {
      gone_ = true;
    }
  }
  Task<void> read_away() {
    std::vector<char> room(kBodyRoom);
    for (int i = 0; i < 1024; ++i) {
      if (co_await stream_.read(room) == 0) co_return;
    }
  }

  Server& server_;
  AnyStream stream_;
  const Peer peer_;
  std::string buffer_;  // what has come and is not part of a request yet
  static constexpr std::size_t kBodyRoom = std::size_t{64} << 10;
  std::vector<char> body_room_;  // while a body comes
  std::uint64_t count_ = 0;
  std::optional<HttpError> refused_;
  std::shared_ptr<ManualResetEvent> answering_;  // set when all that were asked are answered
  std::optional<Request> held_;                  // has come, and those before it are answered first
  bool over_ = false;                            // nothing more is answered
  bool gone_ = false;                            // the client is
};

Peer::Peer(const Socket& socket) {
  const std::optional<Address> own = socket.local();
  local = own && own->is_unix();
  if (!local) {
    if (const std::optional<Address> other = socket.peer()) address = other->text();
    return;
  }
  ucred credentials{};
  socklen_t size = sizeof credentials;
  WorldSockets& sockets = World::current().sockets();
  if (sockets.get_option(socket.descriptor().fd(), SOL_SOCKET, SO_PEERCRED, &credentials, size) ==
      0) {
    user = credentials.uid;
    process = credentials.pid;
  }
}

Task<void> Server::serve_stream(AnyStream stream, Peer peer) {
  Connection connection(*this, std::move(stream), std::move(peer));
  co_await connection.run();
}

namespace {

Task<void> serve_greeted(Socket client, Server* server, const Server::Greeting* greeting) {
  Peer peer(client);
  std::optional<AnyStream> stream = co_await (*greeting)(std::move(client));
  if (stream) co_await server->serve_stream(std::move(*stream), std::move(peer));
}

Task<void> serve_socket(Socket client, Server* server, const Server::Greeting* greeting) {
  if (*greeting) return serve_greeted(std::move(client), server, greeting);
  Peer peer(client);
  return server->serve_stream(AnyStream(std::move(client)), std::move(peer));
}

}  // namespace

Task<void> Server::serve(Listener& listener) {
  static const Greeting kNone;
  return serve(listener, kNone);
}

Task<void> Server::serve(Listener& listener, const Greeting& greeting) {
  struct Listed {
    std::unordered_set<Listener*>& all;
    Listener* listener;
    ~Listed() { all.erase(listener); }
  };
  if (stopping_) co_return;
  listeners_.insert(&listener);
  const Listed listed{listeners_, &listener};
  co_await tiffany::serve(listener, ServeOptions().most(limits_.connections), serve_socket, this,
                          &greeting);
}

Task<void> Server::drained() { co_await drained_.wait(); }

void Server::note_drained() noexcept {
  if (stopping_ && connections_ == 0) drained_.set();
}

void Server::stop() noexcept {
  stopping_ = true;
  for (Listener* const listener : listeners_) listener->close();
  for (AnyStream* const stream : idle_) stream->close();
  note_drained();
}

}  // namespace tiffany::http

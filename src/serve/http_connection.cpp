#include "serve/http_connection.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "serve/http_parser.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany::http {

namespace {

using detail::ClientGone;

constexpr std::size_t kSmallRoom = 2048;
constexpr std::size_t kLargeRoom = std::size_t{64} << 10;

// What comes behind such a request is perhaps none.
bool changes_protocol(const Request& request) { return request.headers.has("upgrade"); }

}  // namespace

Server::Connection::Connection(Server& server, AnyStream stream, Peer peer)
    : server_(server), stream_(std::move(stream)), peer_(std::move(peer)) {
  ++server_.connections_;
}
Server::Connection::~Connection() {
  server_.idle_.erase(&stream_);
  --server_.connections_;
  server_.note_drained();
}

Task<void> Server::Connection::run() {
  while (!server_.stopping_) {
    std::optional<Request> request;
    if (held_ != nullptr) request = std::move(*std::exchange(held_, nullptr));
    if (!request) request = co_await come();
    if (!request) break;
    const bool last = is_last(*request);
    const bool changes = changes_protocol(*request);
    if (!last && !changes && !unread().empty()) {
      co_await run_pipelined(std::move(*request));
      // Behind what was refused, where a next request would begin is not known.
      if (over() || gone_ || refused_ || (!held_ && bored_)) break;
      continue;
    }
    if (changes) forget_taken();
    Exchange exchange(stream_, std::move(*request), server_.limits_, last, peer_, &buffer_);
    const bool more = co_await answer(exchange);
    if (!more) break;
  }
  if (refused_) co_await refuse(*refused_);
  if (!gone_) co_await say_goodbye();
}

bool Server::Connection::is_last(const Request& request) {
  return !request.keep_alive || ++count_ >= server_.limits_.requests;
}

void Server::Connection::forget_taken() {
  buffer_.erase(0, taken_);
  taken_ = 0;
}

void Server::Connection::note_idle() {
  if (!awaits_request_ || running_ > 0) {
    server_.idle_.erase(&stream_);
  } else if (server_.stopping_) {
    stream_.close();
  } else {
    server_.idle_.insert(&stream_);
  }
}

// The next request; nothing when there will be none, with refused_ if there was something else.
Task<std::optional<Request>> Server::Connection::come() {
  std::optional<Request> request;
  try {
    request = co_await next_request();
    if (request) ++server_.requests_;
  } catch (const HttpError& error) {
    refused_ = error;
  } catch (const IoError&) {
    gone_ = true;
  } catch (const ClientGone&) {
    gone_ = true;
  }
  if (line_ != nullptr && gone_) line_->end();
  if (line_ != nullptr && !request && !bored_) line_->hung_up().set();
  co_return request;
}

// The same while handlers run: a client that waits for them is not idle.
Task<std::optional<Request>> Server::Connection::come_beside_handlers() {
  std::optional<Request> request;
  do {
    bored_ = false;
    request = co_await come();
  } while (!request && bored_ && running_ > 0);
  co_return request;
}

// Requests that came behind one another, while more are read. Handled at a time are those that the
// handler lets: what changes something may be what the next depends on.
Task<void> Server::Connection::run_pipelined(Request first) {
  if (line_ == nullptr) {
    line_ = std::make_unique<detail::AnswerLine>(stream_, server_.limits_.write_time);
  }
  Semaphore places(std::max<std::size_t>(1, server_.limits_.pipelined));
  std::optional<Request> request = std::move(first);
  bool last = false;
  int kind = server_.handler_.beside(*request);
  co_await scope([&](Scope& handlers) -> Task<void> {
    for (;;) {
      Semaphore::Permit place = co_await places.acquire();
      const int own = server_.handler_.beside(*request);
      if (own == 0 || own != kind) co_await line_->turn(line_->next());
      kind = own;
      if (over()) break;
      ++running_;
      handlers.spawn(&Connection::answer_in_line, this, std::move(*request), last, line_->enter(),
                     std::move(place));
      if (last || server_.stopping_) break;
      request = co_await come_beside_handlers();
      if (!request) break;
      if (changes_protocol(*request)) {
        held_ = std::make_unique<Request>(std::move(*request));
        break;
      }
      last = is_last(*request);
    }
  });
  if (last) line_->end();
}

Task<void> Server::Connection::answer_in_line(Request request, bool last, std::uint64_t number,
                                              Semaphore::Permit place) {
  const Semaphore::Permit taken = std::move(place);
  // Also when this fails: those behind it are cancelled by their scope, or find out.
  struct Passed {
    Connection& connection;
    std::uint64_t number;
    bool whole = false;
    ~Passed() {
      if (!whole) connection.line_->end();
      connection.line_->leave(number);
      --connection.running_;
      connection.note_idle();
    }
  };
  Passed passed{*this, number};
  Exchange exchange(stream_, std::move(request), server_.limits_, last, peer_, nullptr,
                    InLine{line_.get(), number});
  passed.whole = co_await answer(exchange);
  if (gone_) stream_.close();  // nothing more is read, either
  co_await line_->turn(number);
}

// Nothing: the connection was closed, or nothing came for too long (bored_).
Task<std::optional<Request>> Server::Connection::next_request() {
  detail::ParserLimits bounds;
  bounds.head = server_.limits_.head;
  bounds.body = server_.limits_.body;
  detail::MessageParser parser(detail::MessageParser::Side::request, bounds);
  bool continued = false;
  Time head_due{};
  for (;;) {
    while (!unread().empty() && !parser.complete()) {
      const std::size_t taken = parser.take(unread());
      if (taken == 0) break;
      taken_ += taken;
    }
    if (parser.complete()) {
      if (unread().empty()) forget_taken();
      co_return parser.request();
    }
    if (!continued && parser.expects_continue()) {
      continued = true;
      const std::string_view words = "HTTP/1.1 100 Continue\r\n\r\n";
      if (line_ != nullptr) {
        co_await line_->send(line_->next(), words);
      } else {
        co_await detail::write_in_time(stream_, words, server_.limits_.write_time);
      }
    }
    forget_taken();
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
    awaits_request_ = nothing;
    note_idle();
    // A connection that waits for a request is small; what comes in masses is read in large pieces.
    const bool large = parser.head_complete() || (reads_much_ && running_ > 0);
    if (nothing && !large && buffer_.capacity() > 2 * kSmallRoom) {
      std::string().swap(buffer_);
    }
    const std::size_t before = buffer_.size();
    buffer_.resize(before + (large ? kLargeRoom : kSmallRoom));
    const Room room(buffer_.data() + before, buffer_.size() - before);
    const auto came = co_await within(longest, stream_.read(room));
    awaits_request_ = false;
    note_idle();
    buffer_.resize(before + (came.timed_out() ? 0 : came.value()));
    if (came.timed_out()) {
      bored_ = nothing;
      if (nothing) co_return std::nullopt;
      throw HttpError(408, "The request took too long.");
    }
    if (came.value() == 0) {
      if (nothing) co_return std::nullopt;
      throw HttpError(400, "The connection ended in the middle of a request.");
    }
    reads_much_ = came.value() >= kSmallRoom;
  }
}

// False: the connection is over.
Task<bool> Server::Connection::answer(Exchange& exchange) {
  std::optional<HttpError> refused;
  std::exception_ptr failed;
  try {
    co_await server_.handler_.handle(exchange);
    if (!exchange.begun()) {
      refused.emplace(500, "The server has no answer to this request.");
    }
  } catch (const ClientGone&) {
    gone_ = line_ == nullptr || line_->failed() || !over();
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
    gone_ = line_ == nullptr || line_->failed() || !over();
    co_return false;
  } catch (const IoError&) {
    gone_ = true;
    co_return false;
  }
  if (failed != nullptr) std::rethrow_exception(failed);  // reported by the scope of the server
  co_return !exchange.last();
}

// A request that is none, or beyond a bound: answered, and the connection is over.
Task<void> Server::Connection::refuse(const HttpError& error) {
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
Task<void> Server::Connection::say_goodbye() {
  try {
    co_await stream_.finish_writing();
    co_await within(std::chrono::seconds(1), read_away());
  } catch (const IoError&) {
    gone_ = true;
  }
}
Task<void> Server::Connection::read_away() {
  std::vector<char> room(kLargeRoom);
  for (int i = 0; i < 1024; ++i) {
    if (co_await stream_.read(room) == 0) co_return;
  }
}

}  // namespace tiffany::http

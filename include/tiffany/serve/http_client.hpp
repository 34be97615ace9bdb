// Asking an HTTP/1.1 server.
//
//   http::Response answer = co_await http::fetch(Address::loopback(8080), request);
//
// One request on one connection, over our own sockets: so it can be cancelled, limited in time with
// within(), and run in a world that is not the operating system. The answer has a bound.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/address.hpp"
#include "tiffany/io/any_stream.hpp"
#include "tiffany/serve/http.hpp"

namespace tiffany::http {

inline constexpr std::size_t kLongestAnswer = std::size_t{16} << 20;

// Connects, asks, reads the answer, closes. Throws IoError when the server cannot be reached or
// goes, HttpError (status 400, 413, 431) when what it says is no answer or too long. Cancel: the
// connection is closed.
Task<Response> fetch(Address server, Request request, std::size_t longest = kLongestAnswer);
// The same on a connection that is there, and that stays open if the server lets it.
Task<Response> ask_on(AnyStream& stream, Request request, std::size_t longest = kLongestAnswer);

// An answer that is read as it comes, such as a stream of events: the head, then pieces of the body
// until its end, however long it is.
//
//   http::StreamedAnswer answer = co_await http::StreamedAnswer::open(std::move(stream), request);
//   for (std::string piece; !(piece = co_await answer.read()).empty();) print(piece);
class StreamedAnswer {
 public:
  // Asks, and reads the head; answers 1xx before it are skipped. Throws as fetch().
  static Task<StreamedAnswer> open(AnyStream stream, Request request);
  StreamedAnswer(StreamedAnswer&& from) noexcept;
  StreamedAnswer& operator=(StreamedAnswer&& from) noexcept;
  ~StreamedAnswer();

  const Response& head() const noexcept;  // without a body
  // The next piece; empty when the body has ended. IoError or HttpError when the connection ends
  // before the body does. Cancel: a piece that has come is lost, so close the connection.
  Task<std::string> read();

 private:
  struct State;
  explicit StreamedAnswer(std::unique_ptr<State> state) noexcept;
  std::unique_ptr<State> state_;
};

}  // namespace tiffany::http

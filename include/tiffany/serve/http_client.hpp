// Asking an HTTP/1.1 server.
//
//   http::Response answer = co_await http::fetch(Address::loopback(8080), request);
//
// One request on one connection, over our own sockets: so it can be cancelled, limited in time with
// within(), and run in a world that is not the operating system. The answer has a bound.
#pragma once

#include <cstddef>

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

}  // namespace tiffany::http

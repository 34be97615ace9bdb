// A small HTTP/1.1 server: our sockets, the parser of Boost.Beast. Keep-alive, pipelining, HEAD and
// Expect: 100-continue work, a request that is no HTTP gets an answer that says so, and a slow
// client is not waited for for ever.
//
//   http_hello 127.0.0.1:8080     serves until Ctrl-C
//   http_hello                    answers a request of its own, and ends
#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "tiffany/io/serve.hpp"
#include "tiffany/io/signals.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/tiffany.hpp"

using namespace std::chrono_literals;
using namespace tiffany;
namespace beast = boost::beast;
namespace http = boost::beast::http;

using Parser = http::request_parser<http::string_body>;

// A HEAD gets the headers of the GET, with the length of a body that does not follow.
std::string response(const char* status, const std::string& body, bool head = false) {
  return std::string("HTTP/1.1 ") + status +
         "\r\nContent-Type: text/plain\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + (head ? "" : body);
}

enum class Came { request, nothing, garbage, miracles };

Task<Came> read_request(Socket& client, beast::flat_buffer& buffer, Parser& parser) {
  bool answered = false;
  while (!parser.is_done()) {
    beast::error_code error;
    buffer.consume(parser.put(buffer.data(), error));
    if (error && error != http::error::need_more) co_return Came::garbage;
    if (parser.is_done()) break;
    // "Expect: 100-continue": the client sends the body only after we have said that we want it.
    if (parser.is_header_done() && !std::exchange(answered, true)) {
      const beast::string_view expected = parser.get()[http::field::expect];
      if (!expected.empty() && !beast::iequals(expected, "100-continue")) {
        co_return Came::miracles;
      }
      if (!expected.empty()) co_await client.write("HTTP/1.1 100 Continue\r\n\r\n");
    }
    const auto room = buffer.prepare(4096);
    const std::size_t n = co_await client.read(Room(room.data(), room.size()));
    if (n == 0) co_return Came::nothing;
    buffer.commit(n);
  }
  co_return Came::request;
}

Task<void> answer(Socket client) {
  client.set_no_delay();
  beast::flat_buffer buffer;
  for (;;) {
    Parser parser;
    parser.eager(true);
    parser.header_limit(16 * 1024);
    parser.body_limit(1024 * 1024);
    const auto came = co_await within(30s, read_request(client, buffer, parser));
    if (came.timed_out() || *came == Came::nothing) co_return;
    if (*came == Came::garbage) {
      co_await client.write(response("400 Bad Request", "this is not a request\n"));
      co_return;
    }
    if (*came == Came::miracles) {
      co_await client.write(
          response("417 Expectation Failed", "this server meets 100-continue only\n"));
      co_return;
    }
    const std::string path(parser.get().target());
    const bool head = parser.get().method() == http::verb::head;
    if (path == "/") {
      co_await client.write(response("200 OK", "hello\n", head));
    } else {
      co_await client.write(response("404 Not Found", "there is only /\n", head));
    }
    if (!parser.keep_alive()) co_return;
  }
}

Task<void> until_ctrl_c(Signals* stop) { co_await stop->next(); }

Task<void> ask(Address to) {
  Socket server = co_await connect(to);
  co_await server.write("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET /a HTTP/1.0\r\n\r\n");
  std::string all;
  std::array<char, 1024> room;
  for (;;) {
    const std::size_t n = co_await server.read(room);
    if (n == 0) break;
    all.append(room.data(), n);
  }
  std::printf("%s", all.c_str());
}

Task<void> program(std::string address) {
  Signals stop({SIGINT, SIGTERM});
  const bool alone = address.empty();
  Listener listener = Listener::bind(alone ? Address::loopback(0) : Address::parse(address));
  if (alone) {
    co_await race(serve(listener, answer), until_ctrl_c(&stop), ask(listener.local()));
  } else {
    std::printf("listening at http://%s/\n", listener.local().text().c_str());
    std::fflush(stdout);
    co_await race(serve(listener, answer), until_ctrl_c(&stop));
  }
}

int main(int count, char** arguments) { return run(program(count > 1 ? arguments[1] : "")); }

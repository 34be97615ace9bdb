// Boost.Asio in the server rows: awaitables, one coroutine per connection.
#include <array>
#include <boost/asio.hpp>

#include "server.hpp"

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using asio::use_awaitable;
using server::Mode;

template <class Socket>
void set_no_delay(Socket& socket) {
  if constexpr (std::is_same_v<typename Socket::protocol_type, asio::ip::tcp>) {
    socket.set_option(asio::ip::tcp::no_delay(true));
  }
}

template <std::size_t kRoom, class Socket>
awaitable<void> echo(Socket client) {
  std::array<char, kRoom> room;
  set_no_delay(client);
  try {
    for (;;) {
      const std::size_t n = co_await client.async_read_some(asio::buffer(room), use_awaitable);
      co_await asio::async_write(client, asio::buffer(room, n), use_awaitable);
    }
  } catch (const boost::system::system_error&) {
  }
}

template <class Socket>
awaitable<void> hello(Socket client) {
  std::array<char, 2048> room;
  set_no_delay(client);
  try {
    for (;;) {
      const std::size_t n = co_await client.async_read_some(asio::buffer(room), use_awaitable);
      for (std::size_t left = server::requests_in({room.data(), n}); left > 0; --left) {
        co_await asio::async_write(client, asio::buffer(server::kHello), use_awaitable);
      }
    }
  } catch (const boost::system::system_error&) {
  }
}

template <class Acceptor>
awaitable<void> serve(Acceptor& acceptor, Mode mode) {
  for (;;) {
    auto client = co_await acceptor.async_accept(use_awaitable);
    if (mode == Mode::http) {
      asio::co_spawn(acceptor.get_executor(), hello(std::move(client)), asio::detached);
    } else if (mode == Mode::tcp_large) {
      asio::co_spawn(acceptor.get_executor(), echo<16384>(std::move(client)), asio::detached);
    } else {
      asio::co_spawn(acceptor.get_executor(), echo<128>(std::move(client)), asio::detached);
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  server::allow_many_files();
  const Mode mode = server::mode_of(count, arguments);
  asio::io_context context(1);
  asio::posix::stream_descriptor input(context, 0);
  input.async_wait(asio::posix::stream_descriptor::wait_read,
                   [&](const boost::system::error_code&) { context.stop(); });
  const int fd = server::listen_by_hand(mode, "asio", 0);
  asio::ip::tcp::acceptor tcp(context);
  asio::local::stream_protocol::acceptor local(context);
  if (mode == Mode::unix_socket) {
    local.assign(asio::local::stream_protocol(), fd);
    asio::co_spawn(context, serve(local, mode), asio::detached);
  } else {
    tcp.assign(asio::ip::tcp::v4(), fd);
    asio::co_spawn(context, serve(tcp, mode), asio::detached);
  }
  context.run();
}

// libuv in the server rows: callbacks, one buffer per connection, a write attempted at once.
#include <uv.h>

#include <array>
#include <memory>

#include "server.hpp"

namespace {

using server::Mode;

Mode mode;

struct Client {
  union {
    uv_tcp_t tcp;
    uv_pipe_t pipe;
    uv_stream_t stream;
    uv_handle_t handle;
  };
  std::array<char, 16384>* large = nullptr;
  std::array<char, 2048> room;
  uv_write_t write;
};

void on_room(uv_handle_t* handle, std::size_t, uv_buf_t* buffer) {
  auto* client = reinterpret_cast<Client*>(handle);
  if (client->large != nullptr) {
    *buffer = uv_buf_init(client->large->data(), static_cast<unsigned>(client->large->size()));
  } else {
    *buffer = uv_buf_init(client->room.data(), static_cast<unsigned>(client->room.size()));
  }
}
void on_closed(uv_handle_t* handle) {
  auto* client = reinterpret_cast<Client*>(handle);
  delete client->large;
  delete client;
}
void on_written(uv_write_t*, int) {}

// First in place, as libuv's documentation advises; what does not go is queued.
void answer(Client& client, const char* bytes, std::size_t size) {
  uv_buf_t buffer = uv_buf_init(const_cast<char*>(bytes), static_cast<unsigned>(size));
  const int went = uv_try_write(&client.stream, &buffer, 1);
  const std::size_t done = went > 0 ? static_cast<std::size_t>(went) : 0;
  if (done == size) return;
  buffer = uv_buf_init(const_cast<char*>(bytes) + done, static_cast<unsigned>(size - done));
  uv_write(&client.write, &client.stream, &buffer, 1, on_written);
}

void on_read(uv_stream_t* stream, ssize_t got, const uv_buf_t* buffer) {
  auto* client = reinterpret_cast<Client*>(stream);
  if (got < 0) {
    uv_close(&client->handle, on_closed);
    return;
  }
  const auto size = static_cast<std::size_t>(got);
  if (mode != Mode::http) return answer(*client, buffer->base, size);
  for (std::size_t left = server::requests_in({buffer->base, size}); left > 0; --left) {
    answer(*client, server::kHello.data(), server::kHello.size());
  }
}

void on_connection(uv_stream_t* listener, int) {
  auto client = std::make_unique<Client>();
  if (mode == Mode::tcp_large) client->large = new std::array<char, 16384>;
  if (mode == Mode::unix_socket) {
    uv_pipe_init(listener->loop, &client->pipe, 0);
  } else {
    uv_tcp_init(listener->loop, &client->tcp);
  }
  if (uv_accept(listener, &client->stream) != 0) return;
  if (mode != Mode::unix_socket) uv_tcp_nodelay(&client->tcp, 1);
  uv_read_start(&client->stream, on_room, on_read);
  static_cast<void>(client.release());
}

}  // namespace

int main(int count, char** arguments) {
  server::allow_many_files();
  mode = server::mode_of(count, arguments);
  const int fd = server::listen_by_hand(mode, "uv", SOCK_NONBLOCK);
  uv_loop_t* const loop = uv_default_loop();
  Client listener;
  if (mode == Mode::unix_socket) {
    uv_pipe_init(loop, &listener.pipe, 0);
    uv_pipe_open(&listener.pipe, fd);
  } else {
    uv_tcp_init(loop, &listener.tcp);
    uv_tcp_open(&listener.tcp, fd);
  }
  uv_listen(&listener.stream, 4096, on_connection);
  uv_poll_t input;
  uv_poll_init(loop, &input, 0);
  uv_poll_start(&input, UV_READABLE | UV_DISCONNECT, [](uv_poll_t*, int, int) { std::_Exit(0); });
  uv_run(loop, UV_RUN_DEFAULT);
}

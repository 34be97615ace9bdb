#include "tiffany/serve/http_server.hpp"

#include <optional>
#include <utility>

#include "serve/http_connection.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/serve.hpp"

namespace tiffany::http {

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

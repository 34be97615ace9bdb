#include "app/doors.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include "serve/comma_list.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::app {
namespace {

std::string host_of(const Address& address) {
  const std::string text = address.text();
  return text.substr(0, text.rfind(':'));
}

bool is_loopback(const std::string& host) { return host.starts_with("127.") || host == "[::1]"; }

Task<std::optional<AnyStream>> shake_hands(Socket client, const TlsContext* context) {
  constexpr auto kLongest = std::chrono::seconds(10);
  std::optional<AnyStream> out;
  auto stream = co_await within(kLongest, tls_accept(std::move(client), *context));
  if (!stream.timed_out()) out.emplace(std::move(stream).value());
  co_return out;
}

Task<void> serve_plain(http::Server* server, Listener* listener) {
  co_await server->serve(*listener);
}
Task<void> serve_secure(http::Server* server, Listener* listener, const TlsContext* context) {
  const http::Server::Greeting greeting = [context](Socket client) {
    return shake_hands(std::move(client), context);
  };
  co_await server->serve(*listener, greeting);
}

}  // namespace

Task<void> Doors::open(Access& access) {
  open_unix();
  if (settings_.text("listen").empty()) co_return;
  const Address address = tcp_address();
  co_await open_tcp(address);
  allow_hosts(access);
}

Address Doors::tcp_address() {
  const std::string& tcp = settings_.text("listen");
  Address address = Address::parse(tcp);
  const bool secure = !settings_.text("tls_certificate").empty();
  if (!secure && !is_loopback(host_of(address))) {
    throw Error(Errc::bad_argument,
                "The daemon does not listen on " + tcp +
                    " without TLS: whoever is between could read the tokens. Give "
                    "tls_certificate and tls_key, or listen on 127.0.0.1.");
  }
  if (secure) {
    TlsContext context =
        TlsContext::server(settings_.text("tls_certificate"), settings_.text("tls_key"));
    const std::string& clients = settings_.text("tls_clients");
    tls_ = clients.empty() ? std::move(context) : std::move(context).verify_clients(clients);
  }
  return address;
}

void Doors::open_unix() {
  const std::string& path = settings_.text("socket");
  unix_ = Listener::bind(Address::unix_path(path));
  if (World::current().files().change_mode(path.c_str(), 0600) != 0) {
    throw IoError(errno, "change the mode of", path);
  }
}

// The kernel may need a moment to close what a daemon that was killed had open (seen with
// io_uring), so that the port is asked for again for a while.
Task<void> Doors::open_tcp(Address address) {
  constexpr int kMostTries = 150;
  constexpr auto kBetween = std::chrono::milliseconds(20);
  for (int tries = 1; !tcp_; ++tries) {
    try {
      tcp_ = Listener::bind(address);
    } catch (const IoError& error) {
      if (error.number() != EADDRINUSE || tries == kMostTries) throw;
    }
    if (!tcp_) co_await sleep(kBetween);
  }
}

void Doors::allow_hosts(Access& access) const {
  const std::string own = host_of(tcp_.local());
  access.allow_host(own);
  if (is_loopback(own)) access.allow_host("localhost");
  for_each_listed(settings_.text("hosts"),
                  [&](std::string_view name) { access.allow_host(std::string(name)); });
}

void Doors::serve(Scope& all, http::Server& server) {
  all.spawn(serve_plain, &server, &unix_).named("api on the unix socket");
  if (!tcp_) return;
  if (tls_) {
    all.spawn(serve_secure, &server, &tcp_, &*tls_).named("api on TLS");
  } else {
    all.spawn(serve_plain, &server, &tcp_).named("api on TCP");
  }
}

std::string Doors::text(const std::string& data) const {
  std::string text = "listens on unix:" + settings_.text("socket") + "\n";
  if (tcp_) {
    text += "listens on " + std::string(tls_ ? "https" : "http") + "://" + tcp_.local().text() +
            ", token in " + data + "/admin.token\n";
  }
  return text;
}

}  // namespace tiffany::app

// Where a daemon listens: a unix socket, and TCP with or without TLS. Internal.
#pragma once

#include <optional>
#include <string>

#include "app/access.hpp"
#include "app/settings.hpp"
#include "tiffany/core/scope.hpp"
#include "tiffany/engine/task.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/io/tls.hpp"
#include "tiffany/serve/http_server.hpp"

namespace tiffany::app {

class Doors {
 public:
  explicit Doors(const Settings& settings) : settings_(settings) {}

  // Before the log is opened: a second daemon fails here, and is told why. Throws an Error for an
  // address that must not be listened on without TLS. Names that clients may call the daemon by are
  // told to `access`. Cancel: nothing listens on TCP.
  Task<void> open(Access& access);
  // Tasks of that scope, until the server stops or the scope is cancelled.
  void serve(Scope& all, http::Server& server);

  bool on_tcp() const noexcept { return static_cast<bool>(tcp_); }
  // Where, as lines.
  std::string text(const std::string& data) const;

 private:
  void open_unix();
  Address tcp_address();  // and TLS, if it is wanted there
  Task<void> open_tcp(Address address);
  void allow_hosts(Access& access) const;

  const Settings& settings_;
  Listener unix_;
  Listener tcp_;
  std::optional<TlsContext> tls_;
};

}  // namespace tiffany::app

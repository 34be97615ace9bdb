// nginx with one process that returns a text.
#include <fstream>

#include "serve/daemon_under_load.hpp"

namespace {

using namespace serve_rows;

// One that was free a moment ago.
int free_port() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bench::check(bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0 &&
                   getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) == 0,
               "there is a port");
  close(fd);
  return ntohs(address.sin_port);
}

bool answers(int port) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const bool there = connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  close(fd);
  return there;
}

double healthz(const bench::Suite& suite) {
  const Scratch scratch;
  const int port = free_port();
  const std::string file = scratch.path() + "/nginx.conf";
  std::ofstream(file) << "daemon off; master_process off; worker_processes 1; pid "
                      << scratch.path()
                      << "/pid; error_log stderr error;\nevents { worker_connections 1024; }\n"
                      << "http { access_log off; keepalive_requests 1000000;\n"
                      << "  server { listen 127.0.0.1:" << port
                      << "; location / { return 200 \"ok\\n\"; } } }\n";
  Measured server({"/usr/sbin/nginx", "-p", scratch.path(), "-c", file});
  for (int i = 0; i < 500 && !answers(port); ++i) usleep(10'000);
  return wrk_cost(suite, server, port);
}
const bench::Row row("healthz", "us", bench::Weight::heavy, healthz);

}  // namespace

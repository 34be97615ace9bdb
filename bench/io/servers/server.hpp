// What every server of the bench agrees on.
//
//   server <mode>     tcp: echo, requests of 64 bytes    tcp-large: echo, requests of 16 KiB
//                     unix: echo on a unix socket        http: "hello" to every request
//
// It prints its port, or the name of its abstract unix socket, as the first line, and ends when its
// standard input is closed. An http request ends with an empty line; nobody parses more of it.
#pragma once

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace server {

enum class Mode { tcp, tcp_large, unix_socket, http };

inline Mode mode_of(int count, char** arguments) {
  const std::string_view asked = count > 1 ? arguments[1] : "tcp";
  if (asked == "tcp-large") return Mode::tcp_large;
  if (asked == "unix") return Mode::unix_socket;
  if (asked == "http") return Mode::http;
  return Mode::tcp;
}

inline constexpr std::string_view kHello =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";

// How many requests end in these bytes. The load sends whole requests.
inline std::size_t requests_in(std::string_view bytes) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = bytes.find("\r\n\r\n", at)) != std::string_view::npos; at += 4) {
    ++count;
  }
  return count;
}

inline void allow_many_files() {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

inline void say(const std::string& address) {
  std::printf("%s\n", address.c_str());
  std::fflush(stdout);
}
inline std::string unix_name(const char* program) {
  return "tiffany-bench-" + std::string(program) + "-" + std::to_string(getpid());
}

// A listening socket for servers that make it by hand; says where it is.
inline int listen_by_hand(Mode mode, const char* program, int flags) {
  int fd = -1;
  if (mode == Mode::unix_socket) {
    const std::string name = unix_name(program);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    fd = socket(AF_UNIX, SOCK_STREAM | flags, 0);
    bind(fd, reinterpret_cast<sockaddr*>(&address),
         static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()));
    listen(fd, 4096);
    say("@" + name);
    return fd;
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  fd = socket(AF_INET, SOCK_STREAM | flags, 0);
  bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  listen(fd, 4096);
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  say(std::to_string(ntohs(address.sin_port)));
  return fd;
}

}  // namespace server

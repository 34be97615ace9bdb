// Many starts of tasks behind one another, over plain system calls, for tests.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace tiffany::daemon_tests {

inline std::vector<std::string> ids_in(const std::string& text) {
  std::vector<std::string> ids;
  for (std::size_t at = 0; (at = text.find("\"id\":\"", at)) != std::string::npos; at += 6) {
    ids.push_back(text.substr(at + 6, 36));
  }
  return ids;
}

// Requests behind one another on one connection; gives the bodies of those that were answered with
// 201 until the daemon ended it.
inline std::vector<std::string> start_many(const std::string& data, int count,
                                           const std::string& body,
                                           std::atomic<int>* answered = nullptr) {
  sockaddr_un to{};
  to.sun_family = AF_UNIX;
  const std::string path = data + "/tiffany.sock";
  std::memcpy(to.sun_path, path.c_str(), path.size());
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  std::string all;
  if (connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
    std::string requests;
    for (int i = 0; i < count; ++i) {
      requests += "POST /api/v1/tasks HTTP/1.1\r\nhost: x\r\ncontent-length: " +
                  std::to_string(body.size()) + "\r\n\r\n" + body;
    }
    std::thread sender([&] {
      std::string_view rest = requests;
      while (!rest.empty()) {
        const ssize_t n = send(fd, rest.data(), rest.size(), MSG_NOSIGNAL);
        if (n <= 0) break;
        rest.remove_prefix(static_cast<std::size_t>(n));
      }
      shutdown(fd, SHUT_WR);
    });
    std::array<char, 65536> room;
    for (ssize_t n = 0; (n = recv(fd, room.data(), room.size(), 0)) > 0;) {
      all.append(room.data(), static_cast<std::size_t>(n));
      if (answered != nullptr) {
        int seen = 0;
        for (std::size_t at = 0; (at = all.find(" 201 ", at)) != std::string::npos; ++at) ++seen;
        *answered = seen;
      }
    }
    sender.join();
  }
  close(fd);
  return ids_in(all);
}

}  // namespace tiffany::daemon_tests

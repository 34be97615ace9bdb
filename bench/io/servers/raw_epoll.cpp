// One floor of the server rows: epoll and nothing else. Level-triggered, one buffer for all.
#include <netinet/tcp.h>
#include <sys/epoll.h>

#include <vector>

#include "server.hpp"

int main(int count, char** arguments) {
  server::allow_many_files();
  const server::Mode mode = server::mode_of(count, arguments);
  const int listener = server::listen_by_hand(mode, "epoll", SOCK_NONBLOCK);
  const int epoll = epoll_create1(0);
  const auto watch = [epoll](int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
  };
  watch(listener);
  watch(0);
  std::vector<char> room(65536);
  std::vector<epoll_event> events(256);
  for (;;) {
    const int n = epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < n; ++i) {
      const int fd = events[static_cast<std::size_t>(i)].data.fd;
      if (fd == 0) return 0;
      if (fd == listener) {
        const int client = accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
        if (client < 0) continue;
        const int one = 1;
        setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        watch(client);
        continue;
      }
      const ssize_t got = recv(fd, room.data(), room.size(), 0);
      if (got <= 0) {
        close(fd);
        continue;
      }
      std::string_view answer(room.data(), static_cast<std::size_t>(got));
      std::string hellos;
      if (mode == server::Mode::http) {
        for (std::size_t left = server::requests_in(answer); left > 0; --left) {
          hellos += server::kHello;
        }
        answer = hellos;
      }
      while (!answer.empty()) {  // the load takes everything, so this hardly ever repeats
        const ssize_t sent = send(fd, answer.data(), answer.size(), MSG_NOSIGNAL);
        if (sent > 0) answer.remove_prefix(static_cast<std::size_t>(sent));
      }
    }
  }
}

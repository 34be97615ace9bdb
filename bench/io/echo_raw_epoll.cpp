// The floor of the echo rows: epoll and nothing else. Level-triggered, one buffer for all.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <vector>

int main() {
  const rlimit files{20000, 20000};
  setrlimit(RLIMIT_NOFILE, &files);
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address);
  listen(listener, 4096);
  socklen_t size = sizeof address;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  std::printf("%d\n", ntohs(address.sin_port));
  std::fflush(stdout);

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
      ssize_t sent = 0;
      while (sent < got) {  // the load takes everything, so this hardly ever repeats
        const ssize_t more = send(fd, room.data() + sent, static_cast<std::size_t>(got - sent),
                                  MSG_NOSIGNAL);
        if (more > 0) sent += more;
      }
    }
  }
}

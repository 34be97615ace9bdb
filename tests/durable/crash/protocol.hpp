// How the worker of a crash campaign speaks to the process that watches it: messages over a socket,
// of which each arrives whole or not at all, however the worker ends.
//
//   I who.index key value    an effect by a service that knows keys: done once for each. Answered
//                            by a word.
//   M who.index key value    one by a service that does not: done each time
//   T who.index key value    one in a database that keeps the key beside it
//   F key                    has that one taken place? The answer is the value, or "none"
//   U who.index              the task was told that nobody knows, and takes note of it
//   P number uuid            the task waits for this promise
//   Q number                 which one is that? The answer is the UUID, or "none"
//   O counts                 the log is open: resumed, paused, diverged, quarantined, finished
//   H number status detail   and has this task
//   S number                 a start was acknowledged
//   G number k               a signal was
//   K number                 the keeping of a promise was
//   V number k answer        an update was answered
//   N id                     a run of the schedule sends its report. Answered by a word.
//   C runs                   so many runs the schedule has started, and it starts no more
//   W sentence               something is wrong
//   R number result          a result was given
//   D                        all tasks have ended, and the log is closed
//
// `who` is a task, or a child of one; `index` counts its effects, in the order in which it has
// them.
#pragma once

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace tiffany::crash {

inline std::vector<std::string> words_of(std::string_view message, std::size_t most) {
  std::vector<std::string> words;
  while (words.size() + 1 < most) {
    const std::size_t space = message.find(' ');
    if (space == std::string_view::npos) break;
    words.emplace_back(message.substr(0, space));
    message.remove_prefix(space + 1);
  }
  words.emplace_back(message);
  return words;
}

inline bool send_message(int socket, std::string_view message) {
  for (;;) {
    const ssize_t n = ::send(socket, message.data(), message.size(), MSG_NOSIGNAL);
    if (n == static_cast<ssize_t>(message.size())) return true;
    if (n >= 0 || errno != EINTR) return false;
  }
}

// False when the other end is gone.
inline bool receive_message(int socket, std::string& message, int flags = 0) {
  std::array<char, 4096> room;
  for (;;) {
    const ssize_t n = ::recv(socket, room.data(), room.size(), flags);
    if (n > 0) {
      message.assign(room.data(), static_cast<std::size_t>(n));
      return true;
    }
    if (n == 0 || errno != EINTR) return false;
  }
}

// The end of the worker. Its steps wait for answers on the spot: the time of a service is not what
// is tested here.
class Line {
 public:
  explicit Line(int socket) noexcept : socket_(socket) {}
  void tell(const std::string& message) const {
    if (!send_message(socket_, message)) ::_exit(4);  // the watcher is gone
  }
  std::string ask(const std::string& message) const {
    tell(message);
    std::string answer;
    if (!receive_message(socket_, answer)) ::_exit(4);
    return answer;
  }

 private:
  int socket_;
};

}  // namespace tiffany::crash

// The command line before daemons that start, end, die in the middle of a word, or are none.
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <thread>

#include "app/cli_runner.hpp"

namespace tiffany::daemon_tests {
namespace cli_fake_daemon_test {

// Answers each connection with that text, and closes it.
class FakeDaemon {
 public:
  FakeDaemon(const std::string& path, std::string answer)
      : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)), answer_(std::move(answer)) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path, path.c_str(), path.size());
    if (bind(fd_, reinterpret_cast<sockaddr*>(&name), sizeof name) != 0 || listen(fd_, 16) != 0) {
      throw std::runtime_error("nothing listens at " + path);
    }
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeDaemon() {
    shutdown(fd_, SHUT_RDWR);
    thread_.join();
    close(fd_);
  }
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;

 private:
  void serve() {
    for (int client = 0; (client = accept(fd_, nullptr, nullptr)) >= 0;) {
      std::string request;
      std::array<char, 4096> room;
      while (request.find("\r\n\r\n") == std::string::npos) {
        const ssize_t n = recv(client, room.data(), room.size(), 0);
        if (n <= 0) break;
        request.append(room.data(), static_cast<std::size_t>(n));
      }
      (void)send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL);
      close(client);
    }
  }
  int fd_;
  std::string answer_;
  std::thread thread_;
};

CliSaid asked(const std::string& answer, const std::string& words) {
  const TempDirectory directory;
  const std::string path = directory.path() + "/s";
  const FakeDaemon daemon(path, answer);
  return run_shell(std::string(DEPOT) + " --socket " + path + " " + words);
}

std::string problem(const std::string& sentence) {
  const std::string body = R"({"status":503,"detail":")" + sentence + R"(","code":"unavailable"})";
  return "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n"
         "content-length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

const char* const kCommands[] = {"ps",
                                 "start naps",
                                 "watch 12345678",
                                 "signal 12345678 word",
                                 "update 12345678 add 1",
                                 "logs -f 12345678",
                                 "shutdown"};

TEST(CliFakeDaemon, OneThatStartsOrEndsIsNoDaemonYetOrAnyMore) {
  for (const char* const words : kCommands) {
    const CliSaid starting = asked(problem("The daemon is starting."), words);
    EXPECT_EQ(starting.status, 3) << words << starting.err;
    EXPECT_NE(starting.err.find("The daemon is starting."), std::string::npos) << starting.err;
    const CliSaid ending = asked(problem("The daemon is ending (SIGTERM)."), words);
    EXPECT_EQ(ending.status, 3) << words << ending.err;
    EXPECT_NE(ending.err.find("ending (SIGTERM)"), std::string::npos) << ending.err;
    EXPECT_EQ(starting.out + ending.out, "");
  }
}

TEST(CliFakeDaemon, OneThatDiesInTheMiddleOfAnAnswerIsSaidToHaveGone) {
  const std::string head = "HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n";
  for (const std::string& part :
       {std::string(), std::string("HTTP/1.1 200"), head, head + "{\"tasks\":[{\"id\":\"8a5"}) {
    for (const char* const words : kCommands) {
      const CliSaid said = asked(part, words);
      EXPECT_EQ(said.status, 3) << words << " " << part << said.err;
      EXPECT_NE(said.err.find("went while it was asked"), std::string::npos) << words << said.err;
      EXPECT_EQ(said.out, "") << words;
    }
  }
}

TEST(CliFakeDaemon, WhatIsNoDaemonIsNotTakenForOne) {
  const CliSaid page = asked("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>", "ps");
  EXPECT_EQ(page.status, 1) << page.err;
  EXPECT_NE(page.err.find("no JSON"), std::string::npos) << page.err;
  const CliSaid noise = asked("SSH-2.0-OpenSSH_9.2\r\n\r\n", "ps");
  EXPECT_EQ(noise.status, 3) << noise.err;
}

}  // namespace cli_fake_daemon_test
}  // namespace tiffany::daemon_tests

// The example http_hello as a server for the clients of others, polite and impolite ones.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <csignal>
#include <string>
#include <vector>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/buffered.hpp"
#include "tiffany/io/process.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany {
namespace http_clients_test {

class HttpClients : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(HttpClients);

const char* name_for_environment(ReactorKind kind) {
  return kind == ReactorKind::uring ? "uring" : "epoll";
}

// Starts the server, lets `visit` talk to it, and ends it as Ctrl-C does.
Task<std::string> with_server(ReactorKind kind, Task<std::string> (*visit)(Address)) {
  Process server(Command(HTTP_HELLO)
                     .arg("127.0.0.1:0")
                     .env("TIFFANY_REACTOR", name_for_environment(kind))
                     .pipe_output());
  BufferedReader said(server.output());
  const auto line = co_await said.line();  // listening at http://127.0.0.1:1234/
  const std::string url = line->substr(line->find("127."));
  const std::string seen = co_await visit(Address::parse(url.substr(0, url.size() - 1)));
  server.kill(SIGINT);
  const ExitStatus end = co_await server.wait();
  co_return seen + " (" + end.text() + ")";
}

Task<std::string> rest_of(Socket* from) {
  std::string all;
  std::array<char, 1024> room;
  for (;;) {
    const std::size_t n = co_await from->read(room);
    if (n == 0) co_return all;
    all.append(room.data(), n);
  }
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) {
    ++found;
  }
  return found;
}

Task<std::string> curl_twice(Address server) {
  const std::string url = "http://" + server.text() + "/";
  const ProcessOutput output =
      co_await run_command(Command("curl").arg("-sv").arg(url).arg(url).arg(url + "nothing"));
  co_return output.output + std::to_string(count(output.errors, "Re-using existing connection"));
}

TEST_P(HttpClients, T8_CurlKeepsItsConnectionOverSeveralRequests) {
  EXPECT_EQ(run(with_server, GetParam(), curl_twice).value(),
            "hello\nhello\nthere is only /\n2 (exit code 0)");
}

Task<std::string> asks_for_heads(Address server) {
  Socket socket = co_await connect(server);
  co_await socket.write("HEAD / HTTP/1.1\r\nHost: x\r\n\r\nHEAD /a HTTP/1.1\r\nHost: x\r\n\r\n");
  socket.shutdown_write();
  co_return co_await rest_of(&socket);
}

TEST_P(HttpClients, AHeadIsAnsweredWithTheHeadersOfAGetAndNoBody) {
  EXPECT_EQ(run(with_server, GetParam(), asks_for_heads).value(),
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\n"
            "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 16\r\n\r\n"
            " (exit code 0)");
}

// The body follows only when the server has said that it may.
Task<std::string> expects(Address server, std::string expectation) {
  Socket socket = co_await connect(server);
  co_await socket.write("POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: " +
                        expectation + "\r\nContent-Length: 5\r\n\r\n");
  BufferedReader reader(socket);
  const auto first = co_await within(std::chrono::seconds(5), reader.line());
  if (first.timed_out()) co_return "no answer to Expect";
  if ((*first).value_or("") != "HTTP/1.1 100 Continue") co_return (*first).value_or("the end");
  static_cast<void>(co_await reader.line());
  co_await socket.write("12345");
  const auto status = co_await reader.line();
  co_return (*first).value() + ", " + status.value_or("the end");
}
Task<std::string> expects_to_go_on(Address server) { return expects(server, "100-continue"); }
Task<std::string> expects_miracles(Address server) { return expects(server, "miracles"); }

TEST_P(HttpClients, AClientThatWaitsForContinueIsToldToGoOn) {
  EXPECT_EQ(run(with_server, GetParam(), expects_to_go_on).value(),
            "HTTP/1.1 100 Continue, HTTP/1.1 200 OK (exit code 0)");
}

TEST_P(HttpClients, AnExpectationThatCannotBeMetIsRefused) {
  EXPECT_EQ(run(with_server, GetParam(), expects_miracles).value(),
            "HTTP/1.1 417 Expectation Failed (exit code 0)");
}

Task<std::string> pipelines(Address server) {
  Socket socket = co_await connect(server);
  std::string requests;
  for (int i = 0; i < 20; ++i) requests += "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
  co_await socket.write(requests);
  socket.shutdown_write();
  co_return std::to_string(count(co_await rest_of(&socket), "200 OK"));
}

TEST_P(HttpClients, T8_RequestsThatComeAllAtOnceAreAllAnswered) {
  EXPECT_EQ(run(with_server, GetParam(), pipelines).value(), "20 (exit code 0)");
}

Task<std::string> byte_by_byte(Address server) {
  Socket socket = co_await connect(server);
  socket.set_no_delay();
  const std::string request = "GET / HTTP/1.0\r\nHost: slow\r\n\r\n";
  for (const char& c : request) {
    co_await socket.write(&c, 1);
    co_await sleep(std::chrono::microseconds(100));
  }
  const std::string answer = co_await rest_of(&socket);
  co_return answer.substr(answer.size() - 6);
}

TEST_P(HttpClients, T8_ASlowClientGetsItsAnswer) {
  EXPECT_EQ(run(with_server, GetParam(), byte_by_byte).value(), "hello\n (exit code 0)");
}

// Some go in the middle of a request, some with a reset; then one behaves.
Task<std::string> rude_ones(Address server) {
  for (int i = 0; i < 20; ++i) {
    Socket socket = co_await connect(server);
    co_await socket.write("GET / HT");
    const linger now{i % 2, 0};
    setsockopt(socket.descriptor().fd(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  Socket garbage = co_await connect(server);
  co_await garbage.write("this is no request\r\n\r\n");
  const std::string refused = co_await rest_of(&garbage);
  const std::string polite = co_await byte_by_byte(server);
  co_return refused.substr(9, 15) + ", " + polite;
}

TEST_P(HttpClients, T8_ClientsThatGoInTheMiddleOrTalkNonsenseHarmNobody) {
  EXPECT_EQ(run(with_server, GetParam(), rude_ones).value(),
            "400 Bad Request, hello\n (exit code 0)");
}

}  // namespace http_clients_test
}  // namespace tiffany

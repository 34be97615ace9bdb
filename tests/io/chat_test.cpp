// The example chat as a server: what one client says, the others in its room read, all of it.
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/buffered.hpp"
#include "tiffany/io/process.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany {
namespace chat_test {

class ChatTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(ChatTest);

// Starts the server, lets `visit` talk to it, and ends it as Ctrl-C does.
Task<std::string> with_chat(ReactorKind kind, Task<std::string> (*visit)(Address)) {
  Process server(Command(CHAT)
                     .arg("127.0.0.1:0")
                     .env("TIFFANY_REACTOR", kind == ReactorKind::uring ? "uring" : "epoll")
                     .pipe_output());
  BufferedReader said(server.output());
  const auto line = co_await said.line();  // listening at 127.0.0.1:1234
  const std::string seen = co_await visit(Address::parse(line->substr(line->find("127."))));
  server.kill(SIGINT);
  const ExitStatus end = co_await server.wait();
  co_return seen + " (" + end.text() + ")";
}

constexpr int kLines = 5000;

std::string burst() {
  std::string all;
  for (int i = 0; i < kLines; ++i) all += "line " + std::to_string(i) + "\n";
  return all;
}

Task<void> join_room(Socket* client, BufferedReader<Socket>* reader) {
  co_await client->write("/join tea\n");
  static_cast<void>(co_await reader->line());
}

// Counts the lines that come in order.
Task<int> count_lines(BufferedReader<Socket>* reader) {
  for (int i = 0; i < kLines; ++i) {
    const auto line = co_await reader->line();
    if (!line || *line != "line " + std::to_string(i)) co_return i;
  }
  co_return kLines;
}

Task<std::string> bursts(Address server) {
  Socket anna = co_await connect(server);
  Socket bert = co_await connect(server);
  BufferedReader<Socket> for_anna(anna);
  BufferedReader<Socket> for_bert(bert);
  co_await join_room(&anna, &for_anna);
  co_await join_room(&bert, &for_bert);
  const std::string text = burst();
  auto counts = spawn(count_lines, &for_bert);
  co_await anna.write(text);
  const auto got = co_await within(std::chrono::seconds(20), std::move(counts));
  co_return got.timed_out() ? "lines are missing" : std::to_string(*got) + " lines";
}

TEST_P(ChatTest, ABurstOfLinesReachesTheOthersWhole) {
  EXPECT_EQ(run(with_chat, GetParam(), bursts).value(), "5000 lines (exit code 0)");
}

// One says everything and closes at once; what is on its way still comes.
Task<std::string> says_and_goes(Address server) {
  Socket bert = co_await connect(server);
  BufferedReader<Socket> for_bert(bert);
  co_await join_room(&bert, &for_bert);
  const std::string text = "/join tea\n" + burst();
  auto counts = spawn(count_lines, &for_bert);
  {
    Socket anna = co_await connect(server);
    co_await anna.write(text);
    anna.shutdown_write();
    BufferedReader<Socket> for_anna(anna);
    const auto joined = co_await for_anna.line();
    if (!joined) co_return "Anna was not told that she is in the room";
    static_cast<void>(co_await for_anna.line());  // the end
  }
  const auto got = co_await within(std::chrono::seconds(20), std::move(counts));
  co_return got.timed_out() ? "lines are missing" : std::to_string(*got) + " lines";
}

TEST_P(ChatTest, WhatWasSaidBeforeAClientClosedIsRead) {
  EXPECT_EQ(run(with_chat, GetParam(), says_and_goes).value(), "5000 lines (exit code 0)");
}

}  // namespace chat_test
}  // namespace tiffany

#include "tiffany/io/send_file.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <fstream>
#include <string>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/any_stream.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/pipe.hpp"

namespace tiffany {
namespace send_file_test {

using namespace std::chrono_literals;

class SendFileTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(SendFileTest);

std::string long_text(std::size_t size) {
  std::string text(size, ' ');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i * i % 23);
  return text;
}

template <class S>
Task<std::string> read_all(S* from) {
  std::string all;
  std::string room(16384, '\0');
  for (;;) {
    const std::size_t n = co_await from->read(room);
    if (n == 0) co_return all;
    all.append(room, 0, n);
  }
}

struct Ends {
  Ends() = default;
  Socket one;
  Socket other;
};
Task<Ends> connected() {
  Listener listener = Listener::bind(Address::loopback(0));
  Ends ends;
  ends.one = co_await connect(listener.local());
  ends.other = co_await listener.accept();
  co_return ends;
}

Task<std::string> sent_over_tcp(std::string path, std::uint64_t at, std::uint64_t count) {
  Ends ends = co_await connected();
  const File file = co_await open_file(path);
  co_return co_await scope([&](Scope& s) -> Task<std::string> {
    auto reader = s.spawn(read_all<Socket>, &ends.other);
    const std::uint64_t sent = co_await send_file(ends.one, file, at, count);
    ends.one.shutdown_write();
    std::string got = co_await reader;
    EXPECT_EQ(sent, got.size());
    co_return got;
  });
}

TEST_P(SendFileTest, MegabytesArriveAsTheyAreInTheFile) {
  const TemporaryDirectory directory;
  const std::string text = long_text(9'000'000);
  std::ofstream(directory / "file") << text;
  EXPECT_EQ(
      run(sent_over_tcp, directory / "file", std::uint64_t{0}, std::uint64_t{9'000'000}).value(),
      text);
}

TEST_P(SendFileTest, APartOfAFileIsSent) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << "0123456789";
  EXPECT_EQ(run(sent_over_tcp, directory / "file", std::uint64_t{2}, std::uint64_t{5}).value(),
            "23456");
}

TEST_P(SendFileTest, AFileThatEndsBeforeGivesFewerBytes) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << "0123456789";
  EXPECT_EQ(run(sent_over_tcp, directory / "file", std::uint64_t{8}, std::uint64_t{100}).value(),
            "89");
  EXPECT_EQ(run(sent_over_tcp, directory / "file", std::uint64_t{20}, std::uint64_t{100}).value(),
            "");
}

// The kernel refuses to send this one by itself.
TEST_P(SendFileTest, WhereTheKernelCannotTheFileIsReadAndWritten) {
  const std::string got =
      run(sent_over_tcp, std::string("/proc/self/status"), std::uint64_t{0}, std::uint64_t{5})
          .value();
  EXPECT_EQ(got, "Name:");
}

Task<std::string> sent_through_a_pipe(std::string path, std::uint64_t count) {
  Pipe pipe = make_pipe();
  const File file = co_await open_file(path);
  auto reader = spawn(read_all<ByteStream>, &pipe.read_end);
  co_await send_file(pipe.write_end, file, 0, count);
  pipe.write_end.close();
  co_return co_await reader;
}

TEST_P(SendFileTest, OtherStreamsThanSocketsGetTheSame) {
  const TemporaryDirectory directory;
  const std::string text = long_text(300'000);
  std::ofstream(directory / "file") << text;
  EXPECT_EQ(run(sent_through_a_pipe, directory / "file", std::uint64_t{300'000}).value(), text);
}

Task<void> sends_to_nobody(std::string path) {
  Ends ends = co_await connected();
  const File file = co_await open_file(path);
  ends.other.close();
  for (;;) static_cast<void>(co_await send_file(ends.one, file, 0, 10));
}

TEST_P(SendFileTest, AnOtherSideThatIsGoneIsAnErrorAndNoSignal) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << "0123456789";
  EXPECT_EQ(test::code_of(run(sends_to_nobody, directory / "file").error()), Errc::io_failed);
}

// The other side reads nothing, so that the sender waits for room.
Task<std::uint64_t> sends_too_much(Socket* to, std::string path) {
  const File file = co_await open_file(path);
  co_return co_await send_file(*to, file, 0, 50'000'000);
}

Task<bool> counts_what_went(std::string path) {
  Ends ends = co_await connected();
  auto sender = spawn(sends_too_much, &ends.one, path);
  std::string some(1, '\0');
  co_await ends.other.read(some);
  co_await sleep(5ms);
  sender.cancel("it takes too long");
  const auto sent = co_await sender.outcome();
  ends.one.close();
  const std::string rest = co_await read_all(&ends.other);
  co_return sent.value() == rest.size() + 1 && sent.value() < 50'000'000;
}

TEST_P(SendFileTest, ACancelledSendGivesTheCountOfWhatWent) {
  const TemporaryDirectory directory;
  {
    std::ofstream(directory / "file") << "x";
  }
  std::filesystem::resize_file(directory / "file", 50'000'000);
  EXPECT_TRUE(run(counts_what_went, directory / "file").value());
}

TEST_P(SendFileTest, ASendCanBeCancelledAtEveryStep) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "file") << long_text(100'000);
  cancel_at_every_step(sent_over_tcp, directory / "file", std::uint64_t{0}, std::uint64_t{100'000});
}

}  // namespace send_file_test
}  // namespace tiffany

#include "tiffany/io/buffered.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/pipe.hpp"

namespace tiffany {
namespace buffered_test {

using test::code_of;

class BufferedTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(BufferedTest);

Task<void> writes(ByteStream to, std::string text) { co_await to.write(text); }

Task<std::vector<std::string>> lines_of(std::string text, std::size_t most) {
  Pipe pipe = make_pipe();
  auto writer = spawn(writes, std::move(pipe.write_end), std::move(text));
  BufferedReader reader(pipe.read_end, most);
  std::vector<std::string> all;
  for (;;) {
    std::optional<std::string> line = co_await reader.line();
    if (!line) break;
    all.push_back(*line);
  }
  co_await writer;
  co_return all;
}

TEST_P(BufferedTest, T8_LinesComeWithoutTheirEndsAndTheLastNeedsNone) {
  const std::vector<std::string> expected = {"one", "", "two", "three"};
  EXPECT_EQ(run(lines_of, std::string("one\n\r\ntwo\r\nthree"), std::size_t{16}).value(), expected);
}

TEST_P(BufferedTest, T8_ALineThatIsTooLongIsAnError) {
  EXPECT_EQ(code_of(run(lines_of, std::string(100, 'x'), std::size_t{16}).error()),
            Errc::line_too_long);
}

Task<std::string> exact_parts(std::string text) {
  Pipe pipe = make_pipe();
  auto writer = spawn(writes, std::move(pipe.write_end), std::move(text));
  BufferedReader reader(pipe.read_end, 8);
  std::string out = co_await reader.exactly(3);
  out += "|" + co_await reader.exactly(100);
  std::array<char, 2> room;
  const std::size_t n = co_await reader.read(room);
  out += "|" + std::string(room.data(), n);
  co_await writer;
  out += "|" + co_await reader.exactly(5);
  co_return out;
}

TEST_P(BufferedTest, T8_ExactNumbersOfBytesAreReadEvenBeyondTheBuffer) {
  const std::string middle(100, 'm');
  EXPECT_EQ(run(exact_parts, "abc" + middle + "de" + "fghij").value(),
            "abc|" + middle + "|de|fghij");
}

TEST_P(BufferedTest, T8_AStreamThatEndsTooEarlyIsAnError) {
  const std::string middle(100, 'm');
  EXPECT_EQ(code_of(run(exact_parts, "abc" + middle + "def").error()), Errc::end_of_stream);
}

}  // namespace buffered_test
}  // namespace tiffany

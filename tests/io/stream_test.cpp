// One concept over sockets, pipes and TLS: what is written against it works with each of them.
#include "tiffany/io/stream.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "io/reactors.hpp"
#include "support/harness.hpp"
#include "tiffany/io/any_stream.hpp"
#include "tiffany/io/buffered.hpp"
#include "tiffany/io/pipe.hpp"
#include "tiffany/io/socket.hpp"
#ifdef TIFFANY_TLS
#include "io/tls_support.hpp"
#endif

namespace tiffany {
namespace stream_test {

using namespace std::chrono_literals;

static_assert(Stream<ByteStream> && Stream<Socket> && Stream<AnyStream>);
static_assert(ReadStream<BufferedReader<Socket>> && WriteStream<BufferedWriter<Socket>>);
static_assert(!Stream<std::string> && !ReadStream<BufferedWriter<Socket>>);
#ifdef TIFFANY_TLS
static_assert(Stream<TlsStream>);
#endif

class StreamTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(StreamTest);

// ---- Code that does not know what it reads from ----

template <ReadStream In, WriteStream Out>
Task<void> number_lines(In* in, Out* out) {
  BufferedReader<In> reader(*in);
  BufferedWriter<Out> writer(*out, 64);
  for (int i = 1;; ++i) {
    const std::optional<std::string> line = co_await reader.line();
    if (!line) break;
    co_await writer.write(std::to_string(i) + " " + *line + "\n");
  }
  co_await writer.flush();
  co_await finish_writing(*out);
}

template <Stream S>
Task<std::string> talks_over(S one, S other) {
  co_return co_await scope([&](Scope& s) -> Task<std::string> {
    s.spawn(number_lines<S, S>, &other, &other);
    std::string text;
    std::string expected;
    for (int i = 1; i <= 200; ++i) {
      text += "line\n";
      expected += std::to_string(i) + " line\n";
    }
    co_await one.write(text);
    co_await finish_writing(one);
    std::string all;
    std::string room(100, '\0');
    for (;;) {
      const std::size_t n = co_await one.read(room);
      if (n == 0) break;
      all.append(room, 0, n);
    }
    co_return all == expected ? "as expected" : all;
  });
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

Task<std::string> over_sockets() {
  Ends ends = co_await connected();
  co_return co_await talks_over(std::move(ends.one), std::move(ends.other));
}
TEST_P(StreamTest, TheSameCodeTalksOverSockets) {
  EXPECT_EQ(run(over_sockets).value(), "as expected");
}

Task<std::string> over_any_streams() {
  Ends ends = co_await connected();
  AnyStream one(std::move(ends.one));
  AnyStream other(std::move(ends.other));
  co_return co_await talks_over(std::move(one), std::move(other));
}
TEST_P(StreamTest, TheSameCodeTalksOverStreamsWhoseKindIsKnownAtRunTime) {
  EXPECT_EQ(run(over_any_streams).value(), "as expected");
}

#ifdef TIFFANY_TLS
Task<std::string> over_tls() {
  test::TlsPair pair = co_await test::opened();
  co_return co_await talks_over(std::move(pair.client), std::move(pair.server));
}
TEST_P(StreamTest, TheSameCodeTalksOverTls) { EXPECT_EQ(run(over_tls).value(), "as expected"); }

Task<std::string> over_any_tls() {
  test::TlsPair pair = co_await test::opened();
  AnyStream one(std::move(pair.client));
  AnyStream other(std::move(pair.server));
  EXPECT_NE(one.get_if<TlsStream>(), nullptr);
  EXPECT_EQ(one.get_if<Socket>(), nullptr);
  co_return co_await talks_over(std::move(one), std::move(other));
}
TEST_P(StreamTest, TheSameCodeTalksOverTlsWhoseKindIsKnownAtRunTime) {
  EXPECT_EQ(run(over_any_tls).value(), "as expected");
}
#endif

Task<std::uint64_t> over_pipes() {
  Pipe in = make_pipe();
  Pipe out = make_pipe();
  co_return co_await scope([&](Scope& s) -> Task<std::uint64_t> {
    s.spawn(number_lines<ByteStream, ByteStream>, &in.read_end, &out.write_end);
    Pipe last = make_pipe();
    co_await in.write_end.write("a\nb\nc");
    in.write_end.close();
    co_return co_await copy_stream(out.read_end, last.write_end);
  });
}
TEST_P(StreamTest, TheSameCodeTalksOverPipesAndTheyAreCopied) {
  EXPECT_EQ(run(over_pipes).value(), 12u);
}

// ---- The writer ----

Task<std::string> gathers() {
  Pipe pipe = make_pipe();
  BufferedWriter writer(pipe.write_end, 8);
  co_await writer.write("abc");
  co_await writer.write("def");
  EXPECT_EQ(writer.size(), 6u);
  co_await writer.write("ghi");  // does not fit: the six go first
  EXPECT_EQ(writer.size(), 3u);
  co_await writer.write("a long one that is not kept");
  EXPECT_EQ(writer.size(), 0u);
  co_await writer.write("!");
  co_await writer.flush();
  co_await finish_writing(pipe.write_end);
  BufferedReader reader(pipe.read_end);
  const auto line = co_await reader.line();
  co_return line.value_or("");
}
TEST_P(StreamTest, AWriterGathersSmallWritesAndKeepsTheirOrder) {
  EXPECT_EQ(run(gathers).value(), "abcdefghia long one that is not kept!");
}

template <class S>
Task<std::size_t> read_some(S* from, std::string* room) {
  co_return co_await from->read(*room);
}

// Nobody reads, so that the flush is cancelled in the middle; then somebody does.
template <class S>
Task<bool> flushes_twice(S* to, S* from) {
  const std::string text(4'000'000, 'x');
  BufferedWriter<S> writer(*to, text.size() + 1);
  co_await writer.write(text);
  co_await within(5ms, writer.flush());
  EXPECT_GT(writer.size(), 0u);
  EXPECT_LT(writer.size(), text.size());
  co_return co_await scope([&](Scope& s) -> Task<bool> {
    auto flushed =
        s.spawn([](BufferedWriter<S>* w) -> Task<void> { co_await w->flush(); }, &writer);
    std::size_t got = 0;
    std::string room(65536, '\0');
    while (got < text.size()) {
      const std::size_t n = co_await from->read(room);
      if (n == 0) break;
      got += n;
    }
    co_await flushed;
    const auto more = co_await within(1ms, read_some(from, &room));
    co_return got == text.size() && more.timed_out();
  });
}

Task<bool> flushes_sockets_twice() {
  Ends ends = co_await connected();
  co_return co_await flushes_twice(&ends.one, &ends.other);
}
TEST_P(StreamTest, AFlushThatIsCancelledGoesOnWhereItWas) {
  EXPECT_TRUE(run(flushes_sockets_twice).value());
}

#ifdef TIFFANY_TLS
Task<bool> flushes_tls_twice() {
  test::TlsPair pair = co_await test::opened();
  co_return co_await flushes_twice(&pair.client, &pair.server);
}
TEST_P(StreamTest, AFlushOverTlsThatIsCancelledGoesOnWhereItWas) {
  EXPECT_TRUE(run(flushes_tls_twice).value());
}
#endif

}  // namespace stream_test
}  // namespace tiffany

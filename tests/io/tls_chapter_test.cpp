// The code of docs/16-tls.md.
#ifdef TIFFANY_TLS

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "io/tls_support.hpp"
#include "tiffany/io/tls.hpp"

namespace tiffany {
namespace tls_chapter_test {

using namespace std::chrono_literals;

class TlsChapterTest : public OnEveryReactor {};
TIFFANY_ON_EVERY_REACTOR(TlsChapterTest);

Task<std::string> fetch(Address address, std::string host, TlsContext context) {
  Socket socket = co_await connect(address);
  TlsStream tls = co_await tls_connect(std::move(socket), context, host);
  co_await tls.write("GET / HTTP/1.0\r\nHost: " + host + "\r\n\r\n");
  std::string answer;
  std::array<char, 4096> room;
  while (const std::size_t n = co_await tls.read(room)) answer.append(room.data(), n);
  co_return answer;
}

Task<void> answer_one(Socket socket, TlsContext context) {
  TlsStream tls = co_await tls_accept(std::move(socket), context);
  std::array<char, 4096> room;
  co_await tls.read(room);
  co_await tls.write("HTTP/1.0 200 OK\r\n\r\nhello");
  co_await tls.shutdown();
}

Task<void> accept_one(Listener* listener, TlsContext context) {
  Socket socket = co_await listener->accept();
  co_await answer_one(std::move(socket), context);
}

TEST_P(TlsChapterTest, C3_AClientFetchesAPage) {
  Scheduler scheduler(options());
  Listener listener = Listener::bind(Address::loopback(0));
  scheduler.spawn(accept_one, &listener, test::good_server());
  auto page =
      scheduler.spawn(fetch, listener.local(), std::string("localhost"), test::good_client());
  scheduler.run();
  EXPECT_EQ(page.value(false), "HTTP/1.0 200 OK\r\n\r\nhello");
}

Task<void> see_what_is_wrong() { co_await yield(); }

Task<void> write_patiently(TlsStream& tls, std::string text) {
  const std::uint64_t begin = tls.written();
  for (bool all = false; !all;) {
    const std::size_t taken = tls.written() - begin;
    auto rest = co_await within(1ms, tls.write(text.data() + taken, text.size() - taken));
    if (rest.timed_out()) co_await see_what_is_wrong();
    all = !rest.timed_out();
  }
}

TEST_P(TlsChapterTest, C3_AWriteIsContinuedAfterATimeout) {
  const auto program = []() -> Task<void> {
    test::TlsPair pair = co_await test::opened_tiny();
    const std::string text = test::random_bytes(300000, 1);
    auto writer = spawn(
        [](TlsStream* to, const std::string* all) -> Task<void> {
          co_await write_patiently(*to, *all);
          co_await to->shutdown();
        },
        &pair.client, &text);
    co_await sleep(5ms);  // the writer times out, as often as it does
    const std::string got = co_await test::read_all(pair.server, 1);
    EXPECT_TRUE(got == text);
    co_await writer;
  };
  test::run_program(program, options());
}

}  // namespace tls_chapter_test
}  // namespace tiffany

#endif

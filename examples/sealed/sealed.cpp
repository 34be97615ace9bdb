// A letter whose text nobody can read in the log: its values are encrypted, and the key is changed
// while the letter is under way. Then the process is killed at every moment, and writes are torn.
#include <tiffany/durable/crash_test.hpp>
#include <tiffany/tiffany.hpp>

#include <cstdio>
#include <string>

#include "aes_gcm_codec.hpp"

using namespace tiffany;
using namespace std::chrono_literals;

namespace {

int delivered = 0;
std::string arrived;

Durable<std::string> letter(Flow& flow, std::string text) {
  const std::string stamped = co_await flow.step("stamp", [&] { return text + " (stamped)"; });
  co_await flow.sleep(24h);
  co_await flow.step("deliver", [&] { ++delivered; });
  co_return stamped;
}

Registry types() {
  Registry all;
  all.add("letter", 1, letter);
  return all;
}

const Uuid kLetter = Uuid::derived(Uuid(), "letter");

std::shared_ptr<AesGcmCodec> codec(std::string current) {
  return std::make_shared<AesGcmCodec>(
      std::map<std::string, std::string, std::less<>>{
          // Keys for this example only: read yours from where your secrets are kept.
          {"2026", std::string(32, 'a')},
          {"2027", std::string(32, 'b')},
      },
      std::move(current));
}

Task<void> post(Host& host) {
  co_await host.start_as(kLetter, "letter", "I know what you did");
  co_await sleep(1h);
}
Task<void> wait_for_it(Host& host) {
  co_await host.start_as(kLetter, "letter", "I know what you did");  // the same letter
  arrived = co_await host.result<std::string>(kLetter);
}

// How often a text is in the files of the log.
int found(CrashTest& test, const std::string& text) {
  int times = 0;
  test.disk->edit_each([&](const std::string&, std::string& bytes) {
    for (std::size_t at = 0; (at = bytes.find(text, at)) != std::string::npos; ++at) ++times;
  });
  return times;
}

}  // namespace

int main() {
  CrashTest test(types);
  test.codec = codec("2026");
  test.live(post);
  test.codec = codec("2027");  // the next process: it reads both keys, and writes with this one
  test.live(wait_for_it);
  std::printf("the letter: %s\n", arrived.c_str());
  std::printf("in the log: %d texts, values of 2026: %d, of 2027: %d\n", found(test, "stamped"),
              found(test, R"("$encoded":"2026")"), found(test, R"("$encoded":"2027")"));
  int lost = 0;
  test.tear_everywhere([] { delivered = 0; }, wait_for_it, [&] { lost += delivered == 0 ? 1 : 0; });
  std::printf("lost when writes are torn: %d letters\n", lost);
}

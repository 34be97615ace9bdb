// For `./dev soak requests [seconds] [seed]`: a daemon with AddressSanitizer, and requests that are
// almost right. It must answer to the end, lose no connection slot, and end in good order without a
// word of the sanitizer.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "app/daemon_process.hpp"
#include "tiffany/base/random.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::daemon_tests {
namespace {

using namespace std::chrono_literals;

std::string with_body(const std::string& line, const std::string& body,
                      const std::string& more = "") {
  return line + " HTTP/1.1\r\nHost: x\r\n" + more +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

const std::vector<std::string>& seeds_of_requests() {
  static const std::string order = R"({"type":"order","arguments":[{"id":"a","amount":5}]})";
  static const std::string ws =
      "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  static const std::vector<std::string> all{
      "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /api/v1/tasks?limit=5&status=running HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /api/v1/tasks/00000000-0000-4000-8000-000000000000/records HTTP/1.1\r\nHost: x\r\n\r\n",
      "GET /api/v1/pal?kind=agent HTTP/1.1\r\nHost: x\r\nLast-Event-ID: 1-2\r\n\r\n",
      "GET /api/v1/dump HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n",
      "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
      with_body("POST /api/v1/tasks", order),
      with_body("POST /api/v1/tasks", order, "Idempotency-Key: k\r\n"),
      with_body("POST /api/v1/schedules", R"({"name":"n","type":"order","cron":"* * * * *"})"),
      with_body("POST /api/v1/promises/00000000-0000-4000-8000-000000000000", R"({"value":1})"),
      with_body("POST /api/v1/tokens", R"({"name":"n","role":"viewer"})"),
      "POST /api/v1/tasks HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "10\r\n{\"type\":\"order\",\r\n0\r\n\r\n",
      "GET /api/v1/pal/ws HTTP/1.1\r\nHost: x\r\n" + ws +
          std::string("\x81\x85\x01\x02\x03\x04\x69\x67\x6f\x68\x6e", 11) +
          std::string("\x88\x80\x01\x02\x03\x04", 6),
  };
  return all;
}

std::string mutated(Random& random) {
  const auto& seeds = seeds_of_requests();
  std::string text = seeds[random.below(seeds.size())];
  if (random.below(4) == 0) text += seeds[random.below(seeds.size())];
  const std::uint64_t changes = random.below(6);
  for (std::uint64_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = random.below(text.size());
    switch (random.below(7)) {
      case 0:
        text[at] = static_cast<char>(random.below(256));
        break;
      case 1:
        text.erase(at, random.below(8) + 1);
        break;
      case 2:
        text.insert(at, std::string(random.below(300) + 1, static_cast<char>(random.below(256))));
        break;
      case 3:
        text.insert(at, text.substr(random.below(text.size()), random.below(40)));
        break;
      case 4:
        text.resize(at);
        break;
      case 5:
        text.insert(at, random.below(2) == 0 ? "\r\n" : "\"},{[");
        break;
      default:
        text.insert(at, std::to_string(random.next()));
        break;
    }
  }
  return text;
}

// Sends it in pieces, reads a little, and goes.
Task<void> one(Address to, std::string text, std::uint64_t seed) {
  Random random(seed);
  try {
    Socket socket = co_await connect(to);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t piece = std::min<std::size_t>(text.size() - at, random.below(200) + 1);
      co_await socket.write(std::string_view(text).substr(at, piece));
      at += piece;
    }
    if (random.below(3) == 0) co_return;  // without looking at the answer
    if (random.below(2) == 0) socket.shutdown_write();
    std::array<char, 4096> room;
    co_await within(20ms, socket.read(room));
  } catch (const Error&) {
    // refused, reset: the daemon's right
  }
}

Task<void> many(Address to, Random* random, std::uint64_t* count,
                std::chrono::steady_clock::time_point until) {
  while (std::chrono::steady_clock::now() < until) {
    co_await scope([&](Scope& all) -> Task<void> {
      for (int i = 0; i < 32; ++i) all.spawn(one, to, mutated(*random), random->next());
      co_return;
    });
    *count += 32;
  }
}

int soak(int seconds, std::uint64_t seed) {
  const TempDirectory directory;
  DaemonProcess daemon(directory.path(), {"--log", "error"});
  if (!daemon.running()) {
    std::printf("the daemon did not start: %s\n", daemon.said().c_str());
    return 1;
  }
  Random random(seed);
  std::uint64_t count = 0;
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  const int ran = run(many(daemon.socket(), &random, &count, until));
  const int alive = get(daemon.socket(), "/info").status;
  const int status = daemon.end(SIGTERM);
  const bool clean = daemon.said().find("Sanitizer") == std::string::npos;
  std::printf("%llu requests with seed %llu: the daemon answers %d, ends with %d, sanitizer %s\n",
              static_cast<unsigned long long>(count), static_cast<unsigned long long>(seed), alive,
              status, clean ? "silent" : "not silent");
  const bool good = ran == 0 && alive == 200 && status == 0 && clean;
  if (!good) std::printf("%s\n", daemon.said().c_str());
  return good ? 0 : 1;
}

}  // namespace
}  // namespace tiffany::daemon_tests

int main(int count, char** arguments) {
  const int seconds = count > 1 ? std::atoi(arguments[1]) : 600;
  const std::uint64_t seed = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1;
  return tiffany::daemon_tests::soak(seconds, seed);
}

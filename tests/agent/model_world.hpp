// Servers in memory for tests of models: reads are split, and completions delayed and reordered, by
// a seed; timeouts of minutes take no time.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "tiffany/agent/http_model.hpp"
#include "tiffany/agent/scripted_model.hpp"
#include "tiffany/durable/failures.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/world/memory_world.hpp"

namespace tiffany::agent::model_test {

using namespace std::chrono_literals;

inline constexpr std::uint64_t kSeeds = 8;

using Client = std::function<Task<void>(std::string url)>;

inline std::string url_of(const Address& where) { return "http://" + where.text() + "/v1"; }

// Runs `code` in a world of that seed, and expects that nothing is reported.
inline void in_world(std::uint64_t seed, const std::function<Task<void>()>& code) {
  MemoryWorld world(MemoryWorldOptions().seed(seed));
  std::vector<std::string> reports;
  Scheduler scheduler(Options().clock(world.reactor()).log_to([&](const LogLine& line) {
    reports.emplace_back(line.message);
  }));
  scheduler.spawn([](const std::function<Task<void>()>* what) -> Task<void> { co_await (*what)(); },
                  &code);
  scheduler.run();
  EXPECT_TRUE(reports.empty()) << reports.front();
  EXPECT_EQ(world.open_descriptors(), 0u);
}

inline Task<void> serve_script(ScriptedModel* model, Listener* listener) {
  co_await model->serve(*listener);
}

// A client of a scripted model.
inline void with_script(std::string_view script, const Client& client,
                        std::uint64_t seeds = kSeeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(seed);
    const std::function<Task<void>()> code = [&]() -> Task<void> {
      ScriptedModel model(Script::parse(script, "script.json"));
      Listener listener = Listener::bind(Address::loopback(0));
      const std::string url = url_of(listener.local());
      auto serving = spawn(serve_script, &model, &listener);
      co_await client(url);
      model.stop();
      co_await serving;
    };
    in_world(seed, code);
    if (::testing::Test::HasFailure()) return;
  }
}

// Reads one request with its body.
inline Task<std::string> read_request(Socket* socket) {
  std::string all;
  std::array<char, 4096> room;
  for (;;) {
    const std::size_t head = all.find("\r\n\r\n");
    if (head != std::string::npos) {
      const std::size_t at = all.find("content-length: ");
      const std::size_t length = std::stoul(all.substr(at + 16));
      if (all.size() >= head + 4 + length) co_return all;
    }
    const std::size_t came = co_await socket->read(room);
    if (came == 0) co_return all;
    all.append(room.data(), came);
  }
}

// A server that answers each request with these bytes and closes.
struct RawServer {
  std::string answer{};
  std::vector<std::string> requests{};
};
inline Task<void> serve_raw(RawServer* raw, Listener* listener) {
  for (;;) {
    Socket socket;
    try {
      socket = co_await listener->accept();
    } catch (const IoError&) {
      co_return;  // closed
    }
    raw->requests.push_back(co_await read_request(&socket));
    try {
      co_await socket.write(raw->answer);
      socket.shutdown_write();
      std::array<char, 64> room;
      co_await socket.read(room);
    } catch (const IoError&) {
      continue;  // the client did not want all of it
    }
  }
}
inline void with_raw(RawServer& raw, const Client& client, std::uint64_t seed = 1) {
  const std::function<Task<void>()> code = [&]() -> Task<void> {
    Listener listener = Listener::bind(Address::loopback(0));
    const std::string url = url_of(listener.local());
    auto serving = spawn(serve_raw, &raw, &listener);
    co_await client(url);
    listener.close();
    co_await serving;
  };
  in_world(seed, code);
}

// An answer of that body, as a stream of events.
inline std::string stream_of(std::string_view body) {
  return "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: " +
         std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}
inline std::string answer_of(int status, std::string_view headers, std::string_view body) {
  return "HTTP/1.1 " + std::to_string(status) + " X\r\n" + std::string(headers) +
         "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

// What a question came to.
class Result {
 public:
  Result() = default;
  Reply reply{};
  std::string kind = "reply";  // or the name of an error, "again", "never"
  std::string sentence{};
  Duration delay{};
};
inline Task<Result> result_of(Model* model, Request request, LiveText live = {}) {
  Result result;
  try {
    result.reply = co_await model->ask(request, Try("key"), live);
  } catch (const RetryAfter& error) {
    result.kind = "again";
    result.delay = error.delay();
    result.sentence = error.what();
  } catch (const NotRetryable& error) {
    result.kind = "never";
    result.sentence = error.what();
  } catch (const Error& error) {
    result.kind = name_of(error.code());
    result.sentence = error.what();
  }
  co_return result;
}
// The result of one question to a raw server.
inline Result ask_raw(const std::string& answer, Protocol protocol = Protocol::chat,
                      std::uint64_t seed = 1) {
  RawServer raw;
  raw.answer = answer;
  Result result;
  const Client client = [&](std::string url) -> Task<void> {
    Endpoint endpoint(url, "m");
    endpoint.protocol = protocol;
    HttpModel model(endpoint);
    Request request;
    request.messages.push_back(Message::user("hi"));
    result = co_await result_of(&model, request);
  };
  with_raw(raw, client, seed);
  return result;
}

}  // namespace tiffany::agent::model_test

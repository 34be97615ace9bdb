#include "tiffany/observe/pal_socket.hpp"

#include <chrono>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/base/json_reader.hpp"
#include "tiffany/io/buffered.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/serve.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/structure/combine.hpp"

namespace tiffany::observe {

namespace {

constexpr std::size_t kLongestRequest = 4096;
constexpr std::chrono::seconds kLongestWait(10);
constexpr std::chrono::seconds kLongestFarewell(1);

std::string error_line(std::string_view sentence) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.member("type", "error");
  writer.member("message", sentence);
  writer.end_object();
  return text + "\n";
}

// Nothing: the client went without a word. Throws an Error for a request that is none.
Task<std::optional<PalRequest>> read_request(Socket& client) {
  BufferedReader<Socket> reader(client, kLongestRequest);
  auto line = co_await within(kLongestWait, reader.line());
  if (line.timed_out()) {
    throw Error(Errc::bad_argument, "No request came within ten seconds.");
  }
  const std::optional<std::string> text = std::move(line).value();
  if (!text) co_return std::nullopt;
  co_return PalRequest::parse(*text);
}

// A connection that is closed while bytes of the client are unread is reset, and the client may not
// see the answer: so some are read first.
Task<void> read_away(Socket& client) {
  char room[4096];
  for (int i = 0; i < 256; ++i) {
    if (co_await client.read(room) == 0) co_return;
  }
}

Task<void> until_gone(Socket& client) {
  char room[64];
  try {
    co_await client.read(room);
  } catch (const IoError&) {  // reset: gone as well
  }
}

Task<void> tell(Socket client, Pal* pal) {
  std::optional<PalRequest> request;
  std::string refused;
  try {
    request = co_await read_request(client);
  } catch (const IoError&) {
    co_return;  // the client is gone
  } catch (const Error& error) {
    refused = error.what();
  }
  try {
    if (!refused.empty()) {
      const std::string answer = error_line(refused);
      co_await client.write(answer);
      client.shutdown_write();
      co_await within(kLongestFarewell, read_away(client));
      co_return;
    }
    if (!request) co_return;
    PalSubscription frames = pal->subscribe(request->filter, request->after);
    std::string lines;
    for (;;) {
      // A client says nothing behind its request: what can be read is its end.
      auto first = co_await race(frames.next(), until_gone(client));
      if (first.index == 1) co_return;
      std::optional<PalFrame> frame = std::move(first.get<0>());
      if (!frame) co_return;
      // What has come meanwhile goes along, up to a bound: one write for many events.
      constexpr std::size_t kEnough = 64 * 1024;
      lines.clear();
      for (; frame; frame = lines.size() < kEnough ? frames.try_next() : std::nullopt) {
        lines += *frame->text;
        lines += '\n';
      }
      co_await client.write(lines);
    }
  } catch (const IoError&) {  // closed in the middle of a line, as clients do
  }
}

}  // namespace

PalRequest PalRequest::parse(std::string_view line) {
  PalRequest request;
  if (line.find_first_not_of(" \t") == std::string_view::npos) return request;
  JsonReader in(line, 4);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (name == "task") {
      const std::size_t at = in.offset();
      const auto task = Uuid::parse(in.string());
      if (!task) in.fail("the UUID of a task", at);
      request.filter.task = *task;
    } else if (name == "after") {
      request.after = in.string();
    } else if (name == "kinds") {
      request.filter.agent = request.filter.sched = request.filter.runtime = false;
      in.begin_array();
      while (in.next_element()) {
        const std::size_t at = in.offset();
        const std::string kind = in.string();
        if (kind == "agent") {
          request.filter.agent = true;
        } else if (kind == "sched") {
          request.filter.sched = true;
        } else if (kind == "runtime") {
          request.filter.runtime = true;
        } else {
          in.fail("\"agent\", \"sched\" or \"runtime\"", at);
        }
      }
    } else {
      throw Error(Errc::bad_argument, "A request has \"task\", \"kinds\" and \"after\", and no \"" +
                                          name.substr(0, 64) + "\".");
    }
  }
  in.end();
  return request;
}

Task<void> serve_pal(Pal& pal, Listener& listener) { return serve(listener, tell, &pal); }

}  // namespace tiffany::observe

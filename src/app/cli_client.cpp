#include "app/cli_client.hpp"

#include <cerrno>
#include <charconv>

#include "app/api.hpp"
#include "app/cli.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/resolve.hpp"
#include "tiffany/io/socket.hpp"
#include "tiffany/io/tls.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::app {
namespace {

constexpr Duration kConnectTime = std::chrono::seconds(5);

std::string sentence_in(const http::Response& answer) {
  try {
    const Json problem = Json::parse(answer.body);
    if (problem.has("detail")) return problem["detail"].text();
  } catch (const Error&) {
    // No JSON: whoever answered was no daemon of ours.
  }
  return "The answer was " + std::to_string(answer.status) + " " +
         std::string(http::reason_of(answer.status)) + ": is this a daemon of Tiffany?";
}

}  // namespace

void Endpoint::take_url(const std::string& url) {
  std::string_view rest = url;
  const CliFailure wrong{ends::kUsage, "\"" + url +
                                           "\" is no address of a daemon: say "
                                           "http://127.0.0.1:7070 or https://name:port."};
  if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
    port = 80;
  } else if (rest.starts_with("https://")) {
    rest.remove_prefix(8);
    port = 443;
    tls = true;
  } else {
    throw CliFailure(wrong);
  }
  rest = rest.substr(0, rest.find('/'));
  const std::size_t colon = rest.rfind(':');
  const bool bare_v6 = rest.starts_with('[') && rest.ends_with(']');
  if (colon != std::string_view::npos && !bare_v6) {
    const std::string_view digits = rest.substr(colon + 1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (error != std::errc() || end != digits.data() + digits.size()) throw CliFailure(wrong);
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  if (rest.empty()) throw CliFailure(wrong);
  host = rest;
  socket.clear();
}

std::string Endpoint::text() const {
  if (!socket.empty()) return "unix:" + socket;
  return (tls ? "https://" : "http://") + host + ":" + std::to_string(port);
}

http::Request Client::request(std::string method, std::string target, std::string body) const {
  http::Request request(std::move(method), std::move(target));
  const bool v6 = where_.host.find(':') != std::string::npos;
  request.headers.set("host", where_.host.empty() ? "localhost"
                              : v6 ? "[" + where_.host + "]:" + std::to_string(where_.port)
                                   : where_.host + ":" + std::to_string(where_.port));
  request.headers.set("user-agent", program_);
  if (!where_.token.empty()) request.headers.set("authorization", "Bearer " + where_.token);
  if (!body.empty()) request.headers.set("content-type", "application/json");
  request.body = std::move(body);
  request.keep_alive = false;
  return request;
}

CliFailure Client::unreachable(const std::string& why) const {
  return {ends::kNoDaemon, "No daemon answers at " + where_.text() + " (" + why +
                               "). Start one with `" + program_ +
                               " serve`, or say where it is with --socket or --host."};
}

CliFailure failure_of(const http::Response& answer) {
  const std::string sentence = sentence_in(answer);
  switch (answer.status) {
    case 400:
    case 405:
    case 413:
    case 422:
      return {ends::kUsage, sentence};
    case 404:
    case 410:
      return {ends::kNoTask, sentence};
    case 409: {
      const bool ambiguous = answer.body.find("\"ambiguous\"") != std::string::npos;
      return {ambiguous ? ends::kNoTask : ends::kFailed, sentence};
    }
    case 503:
      return {ends::kNoDaemon, sentence};
    default:
      return {ends::kFailed, sentence};
  }
}

Task<AnyStream> Client::connect() const {
  std::string why;
  try {
    if (!where_.socket.empty()) {
      co_return AnyStream(co_await tiffany::connect(Address::unix_path(where_.socket)));
    }
    auto socket = co_await within(kConnectTime, connect_to(where_.host, where_.port));
    if (!socket.timed_out()) {
      if (!where_.tls) co_return AnyStream(std::move(socket).value());
      const TlsContext context = where_.authority.empty()
                                     ? TlsContext::client()
                                     : TlsContext::client().trust(where_.authority);
      auto stream = co_await within(kConnectTime,
                                    tls_connect(std::move(socket).value(), context, where_.host));
      if (!stream.timed_out()) co_return AnyStream(std::move(stream).value());
    }
    why = "nothing came within 5 s";
  } catch (const IoError& error) {
    why = error.number() == ENOENT || error.number() == ECONNREFUSED ? "nothing listens there"
          : error.number() == EACCES ? "the socket belongs to another user"
                                     : error.what();
  } catch (const Error& error) {
    why = error.what();
  }
  throw unreachable(why);
}

Task<http::Response> Client::ask(std::string method, std::string target, std::string body,
                                 Duration patience) {
  AnyStream stream = co_await connect();
  std::string why;
  try {
    http::Request asked = request(std::move(method), std::move(target), std::move(body));
    constexpr std::size_t kLongest = std::size_t{256} << 20;
    auto answer = co_await within(patience, http::ask_on(stream, std::move(asked), kLongest));
    if (answer.timed_out()) {
      throw CliFailure{ends::kNoDaemon, "The daemon at " + where_.text() +
                                            " took the request and does not answer it."};
    }
    co_return std::move(answer).value();
  } catch (const Error& error) {
    why = error.what();
  }
  throw CliFailure{ends::kNoDaemon,
                   "The daemon at " + where_.text() + " went while it was asked (" + why +
                       "). What was asked for may have been done: look before you repeat it."};
}

Task<Json> Client::json(std::string method, std::string path, std::string body, Duration patience) {
  const http::Response answer =
      co_await ask(std::move(method), std::string(kApi) + path, std::move(body), patience);
  status_ = answer.status;
  if (answer.status < 200 || answer.status > 299) throw failure_of(answer);
  try {
    co_return Json::parse(answer.body);
  } catch (const Error& error) {
    throw CliFailure{ends::kFailed,
                     "The daemon answered what is no JSON: " + std::string(error.what())};
  }
}

Task<Json> Client::get(std::string path, Duration patience) {
  co_return co_await json("GET", std::move(path), "", patience);
}
Task<Json> Client::post(std::string path, std::string body, Duration patience) {
  co_return co_await json("POST", std::move(path), std::move(body), patience);
}
Task<Json> Client::remove(std::string path) {
  co_return co_await json("DELETE", std::move(path), "", kPatience);
}

Task<std::string> Client::page(std::string path) {
  http::Response answer = co_await ask("GET", std::move(path), "", kPatience);
  if (answer.status != 200) throw failure_of(answer);
  co_return std::move(answer.body);
}

// ---- Events ----

Task<PalStream> PalStream::open(const Client& client, std::string query, std::string after) {
  AnyStream stream = co_await client.connect();
  http::Request asked = client.request("GET", std::string(kApi) + "/pal?" + query);
  if (!after.empty()) asked.headers.set("last-event-id", after);
  std::string why;
  try {
    http::StreamedAnswer answer =
        co_await http::StreamedAnswer::open(std::move(stream), std::move(asked));
    if (answer.head().status == 200) co_return PalStream(std::move(answer));
    http::Response whole = answer.head();
    for (std::string piece; !(piece = co_await answer.read()).empty();) whole.body += piece;
    throw failure_of(whole);
  } catch (const Error& error) {
    why = error.what();
  }
  throw client.unreachable(why);
}

Task<std::optional<PalLine>> PalStream::next() {
  for (;;) {
    const std::size_t end = text_.find("\n\n");
    if (end == std::string::npos) {
      const std::string more = co_await answer_.read();
      if (more.empty()) co_return std::nullopt;
      text_ += more;
      continue;
    }
    PalLine line;
    std::string_view block = std::string_view(text_).substr(0, end);
    while (!block.empty()) {
      const std::string_view one = block.substr(0, block.find('\n'));
      block.remove_prefix(std::min(block.size(), one.size() + 1));
      if (one.starts_with("id: ")) line.id = one.substr(4);
      if (one.starts_with("event: ")) line.event = one.substr(7);
      if (one.starts_with("data: ")) line.data += one.substr(6);
    }
    text_.erase(0, end + 2);
    if (!line.event.empty()) co_return line;
  }
}

}  // namespace tiffany::app

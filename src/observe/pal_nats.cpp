#include "tiffany/observe/pal_nats.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/json_reader.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/io/resolve.hpp"
#include "tiffany/observe/log.hpp"

namespace tiffany::observe {

namespace {

const log::Logger& nats_log() {
  static const log::Logger logger("tiffany::pal");
  return logger;
}

bool is_subject(std::string_view text) {
  if (text.empty() || text.front() == '.' || text.back() == '.') return false;
  return text.find("..") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c < 0x7F && c != '*' && c != '>'; });
}

// What the server says of itself, in its first line.
std::size_t most_bytes_of(const std::string& info) {
  constexpr std::size_t kDefault = std::size_t{1} << 20;
  std::size_t most = kDefault;
  bool secure = false;
  JsonReader in(info);
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (name == "max_payload") {
      most = in.unsigned_integer();
    } else if (name == "tls_required") {
      secure = in.boolean();
    } else {
      in.raw();
    }
  }
  if (secure) {
    throw Error(Errc::bad_argument,
                "The NATS server wants TLS, which this sink does not speak. Publish to a server "
                "beside the program that forwards to it.");
  }
  return most;
}

}  // namespace

struct PalNatsSink::Connection {
  explicit Connection(Socket connected) : socket(std::move(connected)) {}

  // Reads what the server says until it answers our PING.
  Task<void> until_confirmed();
  // The next line that is not a PING of the server, which is answered.
  Task<std::string> said();

  Socket socket;
  BufferedReader<Socket> reader{socket};
};

Task<std::string> PalNatsSink::Connection::said() {
  for (;;) {
    std::optional<std::string> line = co_await reader.line();
    if (!line) {
      throw Error(Errc::end_of_stream, "The NATS server closed the connection.");
    }
    if (*line != "PING") co_return std::move(*line);
    const std::string pong = "PONG\r\n";
    co_await socket.write(pong);
  }
}

Task<void> PalNatsSink::Connection::until_confirmed() {
  for (;;) {
    const std::string line = co_await said();
    if (line == "PONG") co_return;
    if (line.starts_with("-ERR")) {
      throw Error(Errc::bad_argument, "The NATS server refused: " + line.substr(0, 256) + ".");
    }
    // INFO may come at any time, when servers join or leave; +OK is for what was not asked for.
  }
}

PalNatsSink::PalNatsSink(NatsOptions options)
    : options_(std::move(options)), backoff_(options_.first_backoff) {
  if (!is_subject(options_.prefix)) {
    throw Error(Errc::bad_argument,
                "\"" + options_.prefix +
                    "\" cannot begin the subjects of a NATS sink: names of printable characters, "
                    "without * and >, with single dots between them.");
  }
}

PalNatsSink::~PalNatsSink() = default;

std::string PalNatsSink::hello() const {
  std::string text = "CONNECT ";
  JsonWriter out(text);
  out.begin_object();
  out.member("verbose", false);
  out.member("pedantic", false);
  out.member("lang", "tiffany");
  out.member("version", "1");
  out.member("name", "tiffany");
  if (!options_.token.empty()) out.member("auth_token", options_.token);
  if (!options_.user.empty()) {
    out.member("user", options_.user);
    out.member("pass", options_.password);
  }
  out.end_object();
  return text + "\r\nPING\r\n";
}

Task<void> PalNatsSink::connect() {
  if (now() < next_try_) co_await sleep_until(next_try_);
  next_try_ = now() + backoff_;
  backoff_ = std::min(2 * backoff_, options_.longest_backoff);
  Socket socket = co_await connect_to(options_.host, options_.port);
  auto made = std::make_unique<Connection>(std::move(socket));
  const std::string info = co_await made->said();
  if (!info.starts_with("INFO ")) {
    throw Error(Errc::bad_argument, "What listens at " + options_.host + ":" +
                                        std::to_string(options_.port) +
                                        " is no NATS server: it did not begin with INFO.");
  }
  most_bytes_ = most_bytes_of(info.substr(5));
  const std::string greeting = hello();
  co_await made->socket.write(greeting);
  co_await made->until_confirmed();
  connection_ = std::move(made);
  ++connections_;
}

Task<void> PalNatsSink::publish(std::string subject, const std::string& payload) {
  // A publish that did not come to its end leaves half of it in the stream.
  struct Whole {
    PalNatsSink& sink;
    bool done = false;
    ~Whole() {
      if (!done) sink.connection_.reset();
    }
  };
  Whole whole{*this};
  std::string text = "PUB " + std::move(subject) + " " + std::to_string(payload.size()) + "\r\n";
  text += payload;
  text += "\r\nPING\r\n";
  co_await connection_->socket.write(text);
  co_await connection_->until_confirmed();
  whole.done = true;
}

std::string PalNatsSink::subject_of(const PalFrame& frame) const {
  if (frame.type == PalFrame::Type::lagged) return options_.prefix + ".lagged";
  std::string task;
  std::string kind;
  JsonReader in(*frame.text);
  in.begin_object();
  for (std::string name; (task.empty() || kind.empty()) && in.next_member(name);) {
    if (name == "task_id") {
      task = in.string();
    } else if (name == "kind") {
      kind = in.string();
    } else {
      in.raw();
    }
  }
  return options_.prefix + "." + kind + "." + task;
}

Task<void> PalNatsSink::take(const PalFrame& frame) {
  if (frame.type == PalFrame::Type::snapshot) co_return;
  const std::string subject = subject_of(frame);
  try {
    for (;;) {
      const bool fresh = connection_ == nullptr;
      if (fresh) co_await connect();
      if (frame.text->size() > most_bytes_) break;
      try {
        co_await publish(subject, *frame.text);
        works();
        co_return;
      } catch (const std::exception&) {
        if (fresh) throw;  // else the connection was an old one, and a new one is tried once
      }
    }
  } catch (const std::exception& error) {
    failed(error.what());
    throw;
  }
  throw Error(Errc::bad_argument, "An event of " + std::to_string(frame.text->size()) +
                                      " bytes is longer than the " + std::to_string(most_bytes_) +
                                      " that the NATS server takes (max_payload).");
}

void PalNatsSink::failed(std::string_view why) {
  if (std::exchange(complained_, true)) return;
  nats_log().warn(
      "Events do not reach the NATS server; they are kept up to the bound of the queue.",
      {{"server", options_.host}, {"port", options_.port}, {"error", why}});
}

void PalNatsSink::works() {
  backoff_ = options_.first_backoff;
  next_try_ = Time();
  if (!std::exchange(complained_, false)) return;
  nats_log().info("Events reach the NATS server again.",
                  {{"server", options_.host}, {"port", options_.port}});
}

}  // namespace tiffany::observe

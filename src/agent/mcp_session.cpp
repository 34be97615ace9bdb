#include "agent/mcp_session.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "agent/mcp_headers.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/scheduler.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::agent::mcp {
namespace {

using namespace std::chrono_literals;

constexpr int kMostTries = 4;    // to hand a call over
constexpr Duration kProbe = 5s;  // one of the other era may say nothing to what it does not know
constexpr std::size_t kMostRelists = 3;  // for a list that changes while it is read

Time time_now() { return Scheduler::require("McpServer").deadline_in(Duration::zero()); }

}  // namespace

Session::Session(McpOptions chosen, Connect connect)
    : options(std::move(chosen)), connect_(std::move(connect)) {}
Session::~Session() = default;

std::string Session::about() const {
  return "The MCP server " + options.name + " (" +
         in_a_sentence(options.url.empty() ? options.command.front() : options.url, 100) + "): ";
}
void Session::fail(const Error& error) const {
  const std::string sentence = error.what();
  if (sentence.starts_with("The MCP server ")) throw Error(error.code(), sentence);
  throw Error(error.code(), about() + sentence);
}

// Every message of the modern era says its version.
std::string Session::version() const {
  return era_ == Era::handshake ? std::string() : std::string(kModern);
}

Task<Said> Session::ask(Link& link, std::string method, std::string params, bool cancels) {
  const std::int64_t id = ++last_id_;
  const bool modern = method != "initialize" && era_ != Era::handshake;
  Ask what(id, method, request_text(id, method, params, modern ? version() : ""), options.start);
  what.cancels = cancels;
  Said said = co_await link.ask(what);
  co_return said;
}

// ---- Both eras ----

// False: it knows nothing of this era.
Task<bool> Session::discover(Link& link) {
  const std::int64_t id = ++last_id_;
  Ask what(id, "server/discover", request_text(id, "server/discover", "", kModern),
           std::min<Duration>(kProbe, options.start));
  what.cancels = false;
  Said said;
  try {
    said = co_await link.ask(what);
  } catch (const Error& error) {
    if (!what.sent && error.code() == Errc::io_failed) throw;  // nobody is there
    said.code = 0;  // it says nothing, or something that is no JSON-RPC, or it ends
  }
  if (said.failed()) co_return false;
  bool knows = false;
  const Members result = Members::parse(said.result);
  result.array("supportedVersions",
               [&](std::string_view each) { knows = knows || each == json_text(kModern); });
  co_return knows;
}

Task<void> Session::shake_hands(Link& link) {
  const Said said = co_await ask(link, "initialize", initialize_params(), false);
  if (said.failed()) {
    throw Error(Errc::bad_reply, "It refused the beginning (" + std::to_string(*said.code) +
                                     "): " + in_a_sentence(said.error));
  }
  const std::string version = Members::parse(said.result).text("protocolVersion");
  constexpr std::string_view kKnown[] = {kHandshake, "2025-06-18", "2025-03-26", "2024-11-05"};
  if (std::ranges::find(kKnown, version) == std::end(kKnown)) {
    throw Error(Errc::bad_reply, "It speaks version \"" + in_a_sentence(version, 40) +
                                     "\" of MCP, which is not known here.");
  }
  link.use_version(version);
  co_await link.tell(notification_text("notifications/initialized", ""));
}

Task<void> Session::agree(Link& link) {
  if (era_ == Era::unknown) {
    const bool modern = co_await discover(link);
    era_ = modern ? Era::modern : Era::handshake;
    died_of_probe_ = link.broken();
    if (died_of_probe_) throw Error(Errc::io_failed, "It ended when it was asked for its version.");
  }
  if (era_ == Era::handshake) co_await shake_hands(link);
}

Task<ToolList> Session::list(Link& link) {
  ToolList found;
  std::string cursor;
  std::size_t pages = 0;
  do {
    if (++pages > kMostPages) throw Error(Errc::bad_reply, "Its list of tools has no end.");
    const std::string params = cursor.empty() ? "" : "\"cursor\":" + json_text(cursor);
    const Said said = co_await ask(link, "tools/list", params, true);
    if (said.failed()) {
      throw Error(Errc::bad_reply, "It does not say what it offers (" + std::to_string(*said.code) +
                                       "): " + in_a_sentence(said.error));
    }
    const Members result = Members::parse(said.result);
    found.add(result.raw("tools"), options);
    cursor = result.text("nextCursor");
  } while (!cursor.empty());
  co_return found;
}

Task<void> Session::list_again(const std::shared_ptr<Link>& link) {
  for (std::size_t i = 0; i < kMostRelists; ++i) {
    *stale_ = false;
    ToolList found = co_await list(*link);
    now_ = std::move(found);
    if (!*stale_) co_return;
  }
}

// ---- Connections ----

// After the first failure half a second, and twice as long each time.
Duration Session::pause() const {
  const int doublings = std::min(failures_ - 1, 6);
  return failures_ == 0 ? Duration::zero() : Duration(500ms) * (1 << doublings);
}

Task<std::shared_ptr<Link>> Session::connect_now() {
  std::shared_ptr<Link> link = co_await connect_();
  std::weak_ptr<bool> stale = stale_;
  link->list_changed = [stale] {
    if (const auto mark = stale.lock()) *mark = true;
  };
  co_await agree(*link);
  co_await list_again(link);
  co_return link;
}

// One at a time makes a connection; the others use it.
Task<std::shared_ptr<Link>> Session::connected() {
  const auto guard = co_await connecting_.lock();
  const bool sure = era_ != Era::handshake;
  std::string sentence;
  Errc code = Errc::io_failed;
  try {
    if (link_ != nullptr && !link_->broken()) {
      if (*stale_) co_await list_again(link_);
      co_return link_;
    }
    link_.reset();
    const Duration wait = next_try_ - time_now();
    if (failures_ > 0 && wait > Duration::zero()) co_await sleep(wait);
    Task<std::shared_ptr<Link>> connecting = connect_now();
    auto made = co_await within(options.start, std::move(connecting));
    if (!made.timed_out()) {
      link_ = std::move(made).value();
      failures_ = 0;
      co_return link_;
    }
    sentence = "It was not ready within " + duration_text(options.start) + ".";
  } catch (const Error& error) {
    code = error.code() == Errc::bad_reply || error.code() == Errc::bad_json ? Errc::bad_reply
                                                                             : Errc::io_failed;
    sentence = error.what();
  }
  if (!sure) era_ = Era::unknown;  // it may have become another
  ++failures_;
  next_try_ = time_now() + pause();
  link_.reset();
  throw Error(code, about() + sentence);
}

Task<void> Session::learn() {
  died_of_probe_ = false;
  bool again = false;
  try {
    co_await connected();
  } catch (const Error&) {
    if (!died_of_probe_) throw;
    again = true;  // it is of the other era, and did not take the question well
  }
  if (again) co_await connected();
  if (!options.pin.empty() && now_.digest(options) != options.pin) {
    throw Error(Errc::bad_reply, about() + "What it offers has the digest " + now_.digest(options) +
                                     ", and not the one that is pinned, " + options.pin +
                                     ". Look at it, and set \"pin\" to accept it.");
  }
  kept = now_;
  known = true;
}

Task<ToolList> Session::offered() {
  const std::shared_ptr<Link> link = co_await connected();
  std::string sentence;
  Errc code = Errc::io_failed;
  try {
    const auto guard = co_await connecting_.lock();
    Task<void> listing = list_again(link);
    const auto listed = co_await within(options.start, std::move(listing));
    if (!listed.timed_out()) co_return now_;
    sentence = "It did not say what it offers within " + duration_text(options.start) + ".";
  } catch (const Error& error) {
    code = error.code();
    sentence = error.what();
  }
  throw Error(code, about() + sentence);
}

Task<void> Session::close() {
  const std::shared_ptr<Link> link = std::exchange(link_, nullptr);
  if (link != nullptr) co_await link->close();
}

// ---- Calls ----

bool Session::drifted(Call& what) const {
  const Definition* const now = now_.find(what.tool);
  const std::string pin = now == nullptr ? "gone" : pin_of(options, *now);
  if (pin == what.pin) return false;
  const Definition* const then = kept.find(what.tool);
  what.drift = pin;
  if (then != nullptr) what.difference = mcp::difference(*then, now);
  return true;
}

// False: the server does not have the call, and `why` says why.
Task<bool> Session::hand_over(Call& what, std::string& why) {
  std::shared_ptr<Link> link;
  try {
    link = co_await connected();
  } catch (const Error& error) {
    why = error.what();
  }
  if (link == nullptr) co_return false;
  if (drifted(what)) co_return true;
  const std::int64_t id = ++last_id_;
  Ask ask(id, "tools/call",
          request_text(id, "tools/call",
                       "\"name\":" + json_text(what.tool) + ",\"arguments\":" + what.arguments,
                       version()),
          options.idle);
  ask.tool = what.tool;
  if (era_ == Era::modern && !options.url.empty()) {
    ask.headers = argument_headers(now_.find(what.tool)->schema, what.arguments);
  }
  struct Noted {  // also when it is cancelled
    Noted(Call& a, const Ask& b) : call(a), ask(b) {}
    ~Noted() { call.sent = ask.sent; }
    Noted(const Noted&) = delete;
    Noted& operator=(const Noted&) = delete;
    Call& call;
    const Ask& ask;
  };
  Said said;
  try {
    const Noted noted(what, ask);
    said = co_await link->ask(ask);
  } catch (const Error& error) {
    if (ask.sent) fail(error);
    why = about() + error.what();
  }
  if (!why.empty()) co_return false;
  what.sent = true;
  if (said.failed()) {
    what.result.failed = true;
    what.result.text = "The server refused the call (" + std::to_string(*said.code) +
                       "): " + plain_text(said.error.substr(0, 4096));
  } else {
    try {
      what.result = read_call_result(said.result);
    } catch (const Error& error) {
      fail(error);
    }
  }
  co_return true;
}

Task<void> Session::make(Call& what) {
  std::string why;
  for (int tries = 0; tries < kMostTries; ++tries) {
    why.clear();
    const bool done = co_await hand_over(what, why);
    if (done) co_return;
  }
  throw Error(Errc::io_failed, why);
}

Task<void> Session::call(Call& what) {
  Task<void> making = make(what);
  const auto made = co_await within(options.deadline, std::move(making));
  if (made.timed_out()) {
    throw Error(Errc::io_failed,
                about() + "It did not answer within " + duration_text(options.deadline) + ".");
  }
}

}  // namespace tiffany::agent::mcp

#include "tiffany/agent/fetch_tool.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/endpoint_url.hpp"
#include "agent/model_tls.hpp"
#include "base/shown_text.hpp"
#include "base/utf8.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/sha256.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/serve/http_client.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kLongestPlace = 400;  // of a redirect, in a sentence

constexpr const char* kFetchSchema =
    R"({"type":"object","properties":{"url":{"type":"string","minLength":1,"maxLength":4096}},)"
    R"("required":["url"],"additionalProperties":false})";

struct FetchArguments {
  std::string url{};
};
TIFFANY_JSON(FetchArguments, url);

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

struct FetchUrl {
  EndpointUrl server{};
  std::string target{};  // path and query
};

// An Error bad_argument.
FetchUrl parse_fetch_url(std::string_view url) {
  url = url.substr(0, url.find('#'));  // a fragment is for who reads, and is not sent
  const std::size_t slashes = url.find("//");
  const std::size_t end =
      slashes == std::string_view::npos ? url.size() : url.find_first_of("/?", slashes + 2);
  FetchUrl found;
  found.server = parse_endpoint_url(url.substr(0, end));
  found.server.host = lower(found.server.host);
  if (end < url.size()) found.target = url.substr(end);
  if (!found.target.starts_with('/')) found.target.insert(0, "/");
  for (const char c : found.target) {
    if (c > 0x20 && c < 0x7f) continue;
    throw Error(Errc::bad_argument,
                "The URL has a character that no URL has: write it with % and two digits.");
  }
  return found;
}

// A host that the operator has named.
struct AllowedHost {
  std::string host{};
  std::uint16_t port = 0;  // zero: that of the scheme, at public addresses
};

AllowedHost allowed_host(const std::string& text) {
  AllowedHost allowed;
  try {
    const EndpointUrl url = parse_endpoint_url("https://" + text);
    allowed.host = lower(url.host);
    const std::size_t colon = text.rfind(':');
    const bool port = colon != std::string::npos && text.find(']', colon) == std::string::npos;
    if (port) allowed.port = url.port;
  } catch (const Error&) {
    allowed.host.clear();
  }
  if (allowed.host.empty() || text.find('/') != std::string::npos) {
    throw Error(Errc::bad_tool, "\"" + tiffany::detail::shown(text.substr(0, 100)) +
                                    "\" is no host that can be fetched from: write it as "
                                    "docs.example.org or 127.0.0.1:8080.");
  }
  return allowed;
}

bool is_text(std::string_view type) {
  return type.starts_with("text/") || type.ends_with("+json") || type.ends_with("+xml") ||
         type == "application/json" || type == "application/xml" ||
         type == "application/javascript" || type == "application/yaml" ||
         type == "application/x-yaml" || type == "application/toml";
}

std::string type_of(const http::Response& head) {
  std::string type = lower(head.headers.find("content-type").value_or(""));
  type = type.substr(0, type.find(';'));
  type.erase(std::remove(type.begin(), type.end(), ' '), type.end());
  return type;
}

// What a server sent, in a sentence of ours: short, one line, printable.
std::string short_text(std::string_view text) {
  return tiffany::detail::shown(text.substr(0, kLongestPlace));
}

class FetchTool final : public Tool {
 public:
  explicit FetchTool(FetchOptions options) : options_(std::move(options)) {
    std::string names;
    for (const std::string& each : options_.hosts) {
      allowed_.push_back(allowed_host(each));
      names += (names.empty() ? "" : ", ") + each;
    }
    if (allowed_.empty()) {
      throw Error(Errc::bad_tool, "The tool \"fetch\" needs the hosts that it may ask.");
    }
    // A file that cannot be trusted is found before the first call.
    if (!options_.trust.empty()) tls_ = std::make_unique<ModelTls>(options_.trust);
    offer_.name = "fetch";
    offer_.about = "Gets the text of a URL. Hosts: " + names + ". Redirects are not followed.";
    offer_.schema = kFetchSchema;
    traits_.effect = StepEffect::idempotent;
    traits_.ask = options_.ask;
    traits_.untrusted = true;
    traits_.writes_outside = true;
    traits_.pin = sha256_hex(to_json(offer_));
  }
  const ToolOffer& offer() const noexcept override { return offer_; }
  const ToolTraits& traits() const noexcept override { return traits_; }

  std::string mistake_in(std::string_view arguments) const override {
    if (std::string mistake = mistakes_in_call(offer_, arguments); !mistake.empty()) {
      return mistake;
    }
    const std::string url = from_json<FetchArguments>(arguments).url;
    try {
      const FetchUrl parsed = parse_fetch_url(url);
      if (allowance(parsed.server) != nullptr) return "";
      return "The host " + parsed.server.authority() + " is none that may be asked. " +
             offer_.about;
    } catch (const Error& error) {
      if (error.code() != Errc::bad_argument) throw;
      return error.what();
    }
  }

  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    ToolAnswer answer;
    answer.canvas = where.canvas;
    std::string problem;
    try {
      const FetchUrl url = parse_fetch_url(from_json<FetchArguments>(arguments).url);
      Task<ToolAnswer> asking = ask(url);
      auto done = co_await within(options_.deadline, std::move(asking));
      if (done.timed_out()) {
        problem = "The server did not answer within " + duration_text(options_.deadline) + ".";
      } else {
        ToolAnswer got = std::move(done).value();
        answer.text = std::move(got.text);
        answer.failed = got.failed;
      }
    } catch (const Error& error) {
      problem = std::string("The URL could not be fetched: ") + error.what();
    }
    if (!problem.empty()) {
      answer.text = std::move(problem);
      answer.failed = true;
    }
    co_return answer;
  }

 private:
  // Null: it is not allowed.
  const AllowedHost* allowance(const EndpointUrl& url) const noexcept {
    const std::uint16_t usual = url.encrypted ? 443 : 80;
    const AllowedHost* found = nullptr;
    for (const AllowedHost& each : allowed_) {
      if (each.host != url.host) continue;
      if (each.port == url.port) return &each;
      if (each.port == 0 && url.port == usual) found = &each;
    }
    return found;
  }

  Task<Socket> connect_there(const EndpointUrl& url) {
    const AllowedHost* const allowed = allowance(url);
    if (allowed == nullptr) throw Error(Errc::bad_argument, "the host is not allowed.");
    std::vector<Address> addresses;
    if (options_.look_up) {
      addresses = co_await resolve_with(options_.look_up, url.host, url.port);
    } else {
      addresses = co_await resolve(url.host, url.port);
    }
    // What is connected to are these addresses: the name is not looked up again.
    for (const Address& each : addresses) {
      if (allowed->port != 0 || is_public(each)) continue;
      throw Error(Errc::bad_argument,
                  url.host + " is at " + each.text() +
                      ", which is no address of the public internet. The operator can name the "
                      "host with its port.");
    }
    co_return co_await connect_any(std::move(addresses));
  }

  Task<http::StreamedAnswer> open(const FetchUrl& url) {
    http::Request message("GET", url.target);
    message.keep_alive = false;
    message.headers.set("host", url.server.authority());
    message.headers.set("user-agent", "tiffany");
    message.headers.set("accept", "text/*, application/json, application/xml;q=0.9");
    message.headers.set("accept-encoding", "identity");
    Socket socket = co_await connect_there(url.server);
    if (!url.server.encrypted) {
      AnyStream plain(std::move(socket));
      co_return co_await http::StreamedAnswer::open(std::move(plain), std::move(message));
    }
    if (!tls_) tls_ = std::make_unique<ModelTls>(options_.trust);
    AnyStream secured = co_await tls_->secure(std::move(socket), url.server.host);
    co_return co_await http::StreamedAnswer::open(std::move(secured), std::move(message));
  }

  Task<ToolAnswer> ask(const FetchUrl& url) {
    http::StreamedAnswer come = co_await open(url);
    const http::Response& head = come.head();
    ToolAnswer answer;
    if (head.status >= 300 && head.status < 400) {
      const std::string_view to = head.headers.find("location").value_or("nowhere");
      answer.text = "The server redirects (" + std::to_string(head.status) + ") to " +
                    short_text(to) + ". Redirects are not followed.";
      co_return answer;
    }
    const std::string type = type_of(head);
    const std::string_view encoding = head.headers.find("content-encoding").value_or("identity");
    if (!is_text(type) || !http::same_name(encoding, "identity")) {
      answer.failed = true;
      answer.text = "The server answered " + std::to_string(head.status) + " with \"" +
                    short_text(type) + "\", which is no plain text, and was not read.";
      co_return answer;
    }
    while (answer.text.size() <= options_.most_bytes) {
      const std::string piece = co_await come.read();
      if (piece.empty()) break;
      answer.text += piece;
    }
    if (answer.text.size() > options_.most_bytes) {
      answer.text.resize(tiffany::detail::utf8_prefix(answer.text, options_.most_bytes).size());
      answer.text += "\n(there is more, which was not read)\n";
    }
    answer.failed = head.status >= 400;
    if (answer.failed) {
      answer.text = "The server answered " + std::to_string(head.status) + ".\n" + answer.text;
    }
    co_return answer;
  }

  FetchOptions options_;
  std::vector<AllowedHost> allowed_;
  std::unique_ptr<ModelTls> tls_;
  ToolOffer offer_;
  ToolTraits traits_;
};

}  // namespace

void add_fetch_tool(ToolSet& tools, FetchOptions options) {
  tools.add(std::make_shared<FetchTool>(std::move(options)));
}

}  // namespace tiffany::agent

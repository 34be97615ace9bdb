#include "serve/http_parser.hpp"

#include <algorithm>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>
#include <utility>

namespace tiffany::http::detail {

namespace {

namespace beast = boost::beast::http;
using RequestParser = beast::request_parser<beast::string_body>;
using ResponseParser = beast::response_parser<beast::string_body>;

[[noreturn]] void refuse(const boost::system::error_code& error) {
  using E = beast::error;
  if (error == E::body_limit) {
    throw HttpError(413, "The body is longer than it may be.");
  }
  if (error == E::header_limit || error == E::buffer_overflow) {
    throw HttpError(431, "The head of the message is longer than it may be.");
  }
  throw HttpError(400, "This is no HTTP/1.1 message: " + error.message() + ".");
}

template <class Fields>
Headers headers_of(const Fields& fields) {
  Headers headers;
  for (const auto& field : fields) {
    try {
      headers.add(std::string(field.name_string()), std::string(field.value()));
    } catch (const Error&) {
      throw HttpError(400, "A header has a character that it cannot have.");
    }
  }
  return headers;
}

}  // namespace

struct MessageParser::State {
  std::optional<RequestParser> request;
  std::optional<ResponseParser> response;
  std::size_t head_limit = 0;

  template <class F>
  auto with(const F& f) {
    return request ? f(*request) : f(*response);
  }
};

MessageParser::MessageParser(Side side, const ParserLimits& limits, bool without_body)
    : state_(std::make_unique<State>()) {
  if (side == Side::request) {
    state_->request.emplace();
  } else {
    state_->response.emplace();
    if (without_body) state_->response->skip(true);
  }
  state_->head_limit = limits.head;
  state_->with([&](auto& parser) {
    parser.header_limit(static_cast<std::uint32_t>(limits.head));
    parser.body_limit(limits.body);
    parser.eager(true);
    return 0;
  });
}
MessageParser::~MessageParser() = default;

static void require_digits(std::string_view length) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (std::all_of(length.begin(), length.end(), digit)) return;
  throw HttpError(400, "The length of the message is not one number.");
}

// What two programs read differently is refused as soon as the head is there, before anybody acts
// on one reading of it: a message with two lengths, a line of a header that goes on in the next, a
// request without a host.
template <class Fields>
static void require_unambiguous(const Fields& headers, bool request, bool old) {
  int lengths = 0;
  int hosts = 0;
  int codings = 0;
  bool chunked = true;
  for (const auto& field : headers) {
    switch (field.name()) {
      case beast::field::content_length:
        ++lengths;
        require_digits(std::string_view(field.value().data(), field.value().size()));
        break;
      case beast::field::host:
        ++hosts;
        break;
      case beast::field::transfer_encoding:
        ++codings;
        chunked =
            same_name(std::string_view(field.value().data(), field.value().size()), "chunked");
        break;
      default:
        break;
    }
  }
  if (lengths > 1) throw HttpError(400, "The message has its length twice.");
  if (codings > 0 && lengths > 0) {
    throw HttpError(400, "The message has a length and a transfer coding.");
  }
  if (codings > 1 || !chunked) {
    throw HttpError(501, "The only transfer coding that is known here is chunked, once.");
  }
  if (request && !old && hosts != 1) {
    throw HttpError(400, "A request of HTTP/1.1 names its host, once.");
  }
}

std::size_t MessageParser::take(std::string_view bytes) {
  State& state = *state_;
  const bool before = head_complete();
  if (!before) {
    // The head is looked at as a whole: what is cut into pieces must not be read otherwise.
    const std::size_t end = bytes.find("\r\n\r\n");
    if (std::min(end, bytes.size()) > state.head_limit) {
      throw HttpError(431, "The head of the message is longer than it may be.");
    }
    if (end == std::string_view::npos) return 0;
    const std::string_view head = bytes.substr(0, end);
    if (head.find("\r\n ") != std::string_view::npos ||
        head.find("\r\n\t") != std::string_view::npos) {
      throw HttpError(400, "A header goes on in the next line, which is obsolete.");
    }
    if (head.find('\0') != std::string_view::npos) {
      throw HttpError(400, "The head of the message has a zero byte.");
    }
  }
  boost::system::error_code error;
  const std::size_t taken = state.with([&](auto& parser) {
    return parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  });
  if (error == beast::error::need_more) error = {};
  if (error) refuse(error);
  if (!before && head_complete()) {
    state.with([&](auto& parser) {
      const bool request = state.request.has_value();
      require_unambiguous(parser.get(), request, parser.get().version() < 11);
      return 0;
    });
  }
  return taken;
}

void MessageParser::end() {
  boost::system::error_code error;
  const bool begun = state_->with([&](auto& parser) {
    if (!parser.is_done() && parser.got_some()) parser.put_eof(error);
    return parser.got_some();
  });
  if (!begun) throw HttpError(400, "The connection ended before a message began.");
  if (error) throw HttpError(400, "The connection ended in the middle of a message.");
}

bool MessageParser::head_complete() const noexcept {
  return state_->with([](auto& parser) { return parser.is_header_done(); });
}
bool MessageParser::complete() const noexcept {
  return state_->with([](auto& parser) { return parser.is_done(); });
}
bool MessageParser::expects_continue() const {
  if (!state_->request || !head_complete()) return false;
  const auto expected = state_->request->get()[beast::field::expect];
  return same_name(std::string_view(expected.data(), expected.size()), "100-continue");
}
bool MessageParser::keep_alive() const {
  return state_->with([](auto& parser) { return parser.get().keep_alive(); });
}

Request MessageParser::request() {
  auto& message = state_->request->get();
  Request request(std::string(message.method_string()), std::string(message.target()));
  request.headers = headers_of(message);
  request.keep_alive = message.keep_alive();
  request.old = message.version() < 11;
  request.body = std::move(message.body());
  return request;
}
Response MessageParser::response() {
  auto& message = state_->response->get();
  Response response(static_cast<int>(message.result_int()));
  response.headers = headers_of(message);
  response.body = std::move(message.body());
  return response;
}
Response MessageParser::head() const {
  const auto& message = state_->response->get();
  Response response(static_cast<int>(message.result_int()));
  response.headers = headers_of(message);
  return response;
}
std::string MessageParser::take_body() {
  std::string& body = state_->response->get().body();
  std::string taken = std::move(body);
  body.clear();
  return taken;
}

}  // namespace tiffany::http::detail

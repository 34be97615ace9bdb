// Messages out of bytes as they come, by the parser of Boost.Beast.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "tiffany/serve/http.hpp"

namespace tiffany::http::detail {

class ParserLimits {
 public:
  ParserLimits() = default;
  std::size_t head = std::size_t{16} << 10;
  std::size_t body = std::size_t{1} << 20;
};

// One message. Bytes are given to take() until complete(); what is behind the message is not taken.
// What is no message is an HttpError with the status that a server answers it with.
class MessageParser {
 public:
  enum class Side : unsigned char { request, response };
  // `without_body`: the answer to a HEAD.
  MessageParser(Side side, const ParserLimits& limits, bool without_body = false);
  ~MessageParser();
  MessageParser(const MessageParser&) = delete;
  MessageParser& operator=(const MessageParser&) = delete;

  // How many bytes were taken; 0: more are needed.
  std::size_t take(std::string_view bytes);
  // The other side has closed: a body without a length ends so. An HttpError when it ends nothing.
  void end();
  bool head_complete() const noexcept;
  bool complete() const noexcept;
  // With "Expect: 100-continue", and the head is complete.
  bool expects_continue() const;

  // When it is complete; the parser is used up.
  Request request();
  Response response();
  bool keep_alive() const;
  // Of an answer that is read as it comes, when its head is complete: the head, and what has come
  // of the body since the call before.
  Response head() const;
  std::string take_body();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tiffany::http::detail

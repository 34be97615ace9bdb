// HTTP/1.1 messages: what a server is asked and answers, and a client asks and is answered.
//
// Names of headers are compared without regard to case and kept in the order they came. What is
// written is checked: a name that is no token, and a value with a line break or another control
// character, are an Error (Errc::bad_argument), so that no text of a user becomes a header of its
// own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tiffany/base/error.hpp"

namespace tiffany::http {

class Headers {
 public:
  Headers() = default;

  // Adds one; the same name may come again.
  Headers& add(std::string name, std::string value);
  // In the place of all of that name.
  Headers& set(std::string name, std::string value);
  // The first of that name; nothing when there is none.
  std::optional<std::string_view> find(std::string_view name) const noexcept;
  bool has(std::string_view name) const noexcept { return find(name).has_value(); }
  // Whether that word is one of the words, separated by commas, of the headers of that name.
  bool has_word(std::string_view name, std::string_view word) const noexcept;

  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }
  std::size_t size() const noexcept { return all_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> all_;
};

bool same_name(std::string_view one, std::string_view other) noexcept;

class Request {
 public:
  Request() = default;
  Request(std::string what, std::string where)
      : method(std::move(what)), target(std::move(where)) {}

  std::string method = "GET";
  std::string target = "/";  // as it was sent: path and query
  Headers headers{};
  std::string body{};
  bool keep_alive = true;
  bool old = false;  // HTTP/1.0, which knows no chunks

  std::string_view path() const noexcept;
  std::string_view query() const noexcept;  // behind the '?'
  // A value of the query, decoded; nothing when it is not there, or not well formed.
  std::optional<std::string> parameter(std::string_view name) const;
};

class Response {
 public:
  Response() = default;
  explicit Response(int code) : status(code) {}
  Response(int code, std::string type, std::string content)
      : status(code), body(std::move(content)) {
    headers.set("content-type", std::move(type));
  }

  int status = 200;
  Headers headers{};
  std::string body{};
};

// "Not Found"; "" for a number that is none of the common ones.
std::string_view reason_of(int status) noexcept;

// Thrown by a handler: answered with that status and the sentence.
class HttpError : public Error {
 public:
  HttpError(int status, const std::string& sentence)
      : Error(Errc::bad_argument, sentence), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

// %41 and, in queries, + decoded; nothing when a % is not followed by two digits.
std::optional<std::string> percent_decoded(std::string_view text, bool plus = true);

}  // namespace tiffany::http

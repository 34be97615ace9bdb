// One connection of an http::Server: reads requests, and has them handled. Internal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "serve/answer_line.hpp"
#include "tiffany/serve/http_server.hpp"
#include "tiffany/structure/blocks.hpp"
#include "tiffany/sync/semaphore.hpp"

namespace tiffany::http {

class Server::Connection {
 public:
  Connection(Server& server, AnyStream stream, Peer peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Task<void> run();

 private:
  bool is_last(const Request& request);
  Task<std::optional<Request>> come();
  Task<std::optional<Request>> next_request();
  Task<void> run_pipelined(Request first);
  Task<std::optional<Request>> come_beside_handlers();
  Task<void> answer_in_line(Request request, bool last, std::uint64_t number,
                            Semaphore::Permit place);
  Task<bool> answer(Exchange& exchange);
  Task<void> refuse(const HttpError& error);
  Task<void> say_goodbye();
  Task<void> read_away();

  // Nothing more is answered.
  bool over() const noexcept { return line_ != nullptr && line_->over(); }
  // What has come and is not part of a request yet.
  std::string_view unread() const noexcept { return std::string_view(buffer_).substr(taken_); }
  void forget_taken();
  // Idle connections are closed when the server stops: nothing of them is being read or handled.
  void note_idle();

  Server& server_;
  AnyStream stream_;
  const Peer peer_;
  std::string buffer_;
  std::size_t taken_ = 0;  // of buffer_
  std::uint64_t count_ = 0;
  std::unique_ptr<detail::AnswerLine> line_;  // when requests were sent behind one another
  std::size_t running_ = 0;                   // handlers, of requests in line
  std::optional<HttpError> refused_;
  std::unique_ptr<Request> held_;  // has come, and those before it are answered first
  bool reads_much_ = false;        // the last read filled the room it was given
  bool awaits_request_ = false;    // is parked in a read, and has no byte of the next request
  bool bored_ = false;             // nothing has come for the time that a connection may be idle
  bool gone_ = false;              // the client is
};

}  // namespace tiffany::http

#include "tiffany/io/serve.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "tiffany/core/sleep.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany::detail {
namespace {

// Long enough for connections to end, short enough that clients hardly see it; doubled each time up
// to half a second, because asking costs a system call and may go on for hours.
constexpr Duration kFirstPause = std::chrono::milliseconds(10);
constexpr unsigned kMostDoublings = 6;

enum class Kind : std::uint8_t { of_one_connection, of_lack, of_the_listener };

Kind kind_of(int number) noexcept {
  switch (number) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return Kind::of_lack;
    // accept(2): errors of a connection that is pending already, to be treated like EAGAIN.
    case ECONNABORTED:
    case EPROTO:
    case ENETDOWN:
    case ENETUNREACH:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENONET:
    case ENOPROTOOPT:
    case EPERM:  // a rule of the firewall
      return Kind::of_one_connection;
    default:
      return Kind::of_the_listener;
  }
}

}  // namespace

Acceptor::Acceptor(Listener& listener, const ServeOptions& options)
    : listener_(&listener),
      name_(describe_descriptor(listener.descriptor().fd())),
      places_(options.most()) {}

void Acceptor::took() {
  if (pauses_ == 0) return;
  pauses_ = 0;
  Scheduler::current()->log("The server on " + name_ + " takes connections again.");
}

Task<void> Acceptor::pause(std::string why) {
  if (pauses_ == 0) {
    Scheduler::current()->log("The server on " + name_ + " takes no connection for now: " + why +
                              " The server goes on by itself when that is over.");
  }
  const unsigned doublings = std::min(pauses_++, kMostDoublings);
  co_await sleep(kFirstPause * (1 << doublings));
}

Task<Socket> Acceptor::next() {
  for (;;) {
    if (!*listener_) co_return Socket();
    std::string lack;
    try {
      co_return co_await listener_->accept();
    } catch (const IoError& error) {
      if (!*listener_) co_return Socket();
      const Kind kind = kind_of(error.number());
      if (kind == Kind::of_the_listener) throw;
      // Of one connection: its peer has given up or is not let in. No connection was made, so that
      // nobody here has lost anything.
      if (kind == Kind::of_lack) lack = error.what();
    }
    if (!lack.empty()) {
      co_await pause(std::move(lack));
    } else {
      co_await checkpoint();
    }
  }
}

}  // namespace tiffany::detail

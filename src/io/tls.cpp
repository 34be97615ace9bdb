#include "tiffany/io/tls.hpp"

#include <openssl/err.h>

#include <algorithm>
#include <chrono>

#include "io/tls_session.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany {
namespace io {
namespace {

// The largest record, and how many of them go to the socket at once: a large write makes few system
// calls, and not more than this is encrypted ahead of what the other side takes.
constexpr std::size_t kRecord = std::size_t{16} << 10;
constexpr std::size_t kRecordsAtOnce = 4;
// Header, tag and padding of a record, at most.
constexpr std::size_t kAroundRecord = 256;
// Answers to what comes in wait for the next write. When more than this have gathered, because the
// other side asks and asks, they are sent before anything else is read.
constexpr std::size_t kMostAnswers = 4096;
// How long somebody who cannot go on tries to tell the other side why.
constexpr Duration kLastWords = std::chrono::seconds(1);

// One task at a time in each direction.
class Alone {
 public:
  Alone(bool& taken, const TlsSession& session, const char* what) : taken_(taken) {
    if (taken) {
      throw Error(Errc::tls_busy,
                  std::string("Two tasks ") + what + " the TLS stream on " +
                      describe_descriptor(session.socket.descriptor().fd()) +
                      " at the same time. One may read while another writes; let one task do all "
                      "of either, or guard it with a mutex.");
    }
    taken_ = true;
  }
  ~Alone() { taken_ = false; }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;

 private:
  bool& taken_;
};

}  // namespace

Task<void> TlsSession::flush() {
  while (wire_.unsent() > 0) {
    if (cannot_send_ != nullptr) std::rethrow_exception(cannot_send_);
    if (flushing_.busy()) {
      co_await flushing_.wait();
      continue;
    }
    require_open();
    const TlsLane::Turn turn(flushing_);
    try {
      const std::size_t count = co_await socket.write(wire_.next());
      wire_.sent(count);
    } catch (const IoError&) {
      cannot_send_ = std::current_exception();
      throw;
    }
  }
  answers_ = 0;
}

Task<void> TlsSession::fill() {
  if (filling_.busy()) {
    co_await filling_.wait();
    co_return;
  }
  require_open();
  const TlsLane::Turn turn(filling_);
  const std::size_t count = co_await socket.read(wire_.room());
  wire_.came(count);
  socket_ended_ = count == 0;
}

Task<void> TlsSession::give_up(bool in_handshake) {
  broken_ = std::make_exception_ptr(failure(in_handshake));
  // Nothing is lost: the reason is thrown below and says that the stream is dead, so that an error
  // in telling the other side adds nothing; a cancel comes again at the next suspension.
  try {
    static_cast<void>(co_await within(kLastWords, flush()));
  } catch (...) {
  }
  std::rethrow_exception(broken_);
}

Task<void> TlsSession::shake_hands() {
  for (;;) {
    ERR_clear_error();
    const Step step = step_of(SSL_do_handshake(ssl()));
    if (step == Step::failed || step == Step::ended) co_await give_up(true);
    // The last thing a server of TLS 1.3 writes are tickets for later. Nobody waits for them, so
    // they go with the first write, and a client that is gone by now does not make it fail.
    if (step == Step::done && server_ && SSL_version(ssl()) >= TLS1_3_VERSION) co_return;
    co_await flush();
    if (step == Step::done) co_return;
    if (socket_ended_) {
      broken_ = std::make_exception_ptr(
          Error(Errc::tls_failed, "The TLS handshake with " + whom() +
                                      " failed: the other side closed the connection in the middle "
                                      "of it. Does it speak TLS on this port?"));
      std::rethrow_exception(broken_);
    }
    co_await fill();
  }
}

Task<TlsStream> TlsSession::open(Ptr session) {
  // The last message of a handshake and the first of what follows are two small writes in a row.
  session->socket.set_no_delay();
  co_await session->shake_hands();
  co_return TlsStream(std::move(session));
}

Task<std::size_t> TlsSession::read(Ptr session, Room room) {
  TlsSession& self = *session;
  const Alone alone(self.reading_, self, "read from");
  if (room.empty()) co_return 0;
  for (;;) {
    if (self.broken_ != nullptr) std::rethrow_exception(self.broken_);
    if (self.answers_ > kMostAnswers) co_await self.flush();
    std::size_t count = 0;
    const Step step = self.step_read(room, count);
    if (step == Step::done) co_return count;
    if (step == Step::ended) co_return 0;
    if (step == Step::failed) co_await self.give_up(false);
    if (self.socket_ended_) {
      throw Error(Errc::tls_truncated,
                  "The TLS stream with " + self.whom() +
                      " ended without a word: the other side closed the connection, or somebody on "
                      "the way cut it off. What was read may not be all that was sent.");
    }
    co_await self.fill();
  }
}

Task<std::size_t> TlsSession::write(Ptr session, Bytes bytes) {
  TlsSession& self = *session;
  const Alone alone(self.writing_, self, "wrote to");
  const std::size_t size = bytes.size();
  std::size_t taken = 0;
  for (;;) {
    if (self.broken_ != nullptr) std::rethrow_exception(self.broken_);
    if (self.shut_down_ && size > 0) {
      throw Error(Errc::tls_closed, "A write to the TLS stream with " + self.whom() +
                                        " came after its shutdown(). Write everything before.");
    }
    co_await self.flush();
    if (taken == size) co_return size;
    // A write that was cancelled takes nothing more.
    co_await checkpoint();
    // A message of the other side has come in part, and OpenSSL does nothing else before it is
    // whole.
    if (SSL_in_init(self.ssl()) != 0) co_await self.shake_hands();
    const std::size_t batch = std::min(size - taken, kRecordsAtOnce * kRecord);
    self.wire_.expect(batch + (kRecordsAtOnce + 1) * kAroundRecord);
    for (const std::size_t until = taken + batch; taken < until;) {
      std::size_t count = 0;
      const Bytes record(bytes.data() + taken, std::min(until - taken, kRecord));
      if (self.step_write(record, count) != Step::done) co_await self.give_up(false);
      taken += count;
      self.written += count;
    }
  }
}

Task<void> TlsSession::shutdown(Ptr session) {
  TlsSession& self = *session;
  const Alone alone(self.writing_, self, "wrote to");
  if (self.broken_ != nullptr) std::rethrow_exception(self.broken_);
  if (!self.shut_down_) {
    co_await self.flush();
    if (SSL_in_init(self.ssl()) != 0) co_await self.shake_hands();
    ERR_clear_error();
    if (SSL_shutdown(self.ssl()) < 0) co_await self.give_up(false);
    self.shut_down_ = true;
  }
  co_await self.flush();
}

namespace {

const std::shared_ptr<TlsSession>& existing(const std::shared_ptr<TlsSession>& session) {
  if (session == nullptr) {
    throw Error(Errc::tls_closed,
                "A TLS stream was used that has been moved from, or never opened. "
                "tls_connect() and tls_accept() give one.");
  }
  return session;
}

}  // namespace
}  // namespace io

Task<TlsStream> tls_connect(Socket socket, const TlsContext& context, std::string_view host) {
  return io::TlsSession::open(io::TlsSession::client(std::move(socket), context, host));
}
Task<TlsStream> tls_accept(Socket socket, const TlsContext& context) {
  return io::TlsSession::open(io::TlsSession::server(std::move(socket), context));
}

Task<std::size_t> TlsStream::read(Room room) {
  return io::TlsSession::read(io::existing(session_), room);
}
Task<std::size_t> TlsStream::write(Bytes bytes) {
  return io::TlsSession::write(io::existing(session_), bytes);
}
Task<void> TlsStream::shutdown() { return io::TlsSession::shutdown(io::existing(session_)); }

void TlsStream::close() noexcept {
  if (session_ != nullptr) session_->socket.close();
}

std::uint64_t TlsStream::written() const noexcept {
  return session_ != nullptr ? session_->written : 0;
}
std::size_t TlsStream::unsent() const noexcept {
  return session_ != nullptr ? session_->wire().unsent() : 0;
}
std::string TlsStream::version() const { return SSL_get_version(io::existing(session_)->ssl()); }
std::string TlsStream::alpn() const {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(io::existing(session_)->ssl(), &name, &size);
  return name == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(name), size);
}
namespace {

// Null when there is none, or nobody has looked at it.
const X509* verified_peer(SSL* ssl) noexcept {
  const bool verifies = (SSL_get_verify_mode(ssl) & SSL_VERIFY_PEER) != 0;
  const bool good = verifies && SSL_get_verify_result(ssl) == X509_V_OK;
  return good ? SSL_get0_peer_certificate(ssl) : nullptr;
}

}  // namespace

std::string TlsStream::peer_subject() const {
  const X509* const peer = verified_peer(io::existing(session_)->ssl());
  return peer != nullptr ? io::subject_of(*peer) : std::string();
}
std::vector<std::string> TlsStream::peer_names() const {
  const X509* const peer = verified_peer(io::existing(session_)->ssl());
  return peer != nullptr ? io::alternative_names_of(*peer) : std::vector<std::string>();
}
const Socket& TlsStream::socket() const { return io::existing(session_)->socket; }

}  // namespace tiffany

#include "io/tls_wire.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <utility>

namespace tiffany::io {
namespace {

// A buffer up to this size is kept for the next write; a million idle streams have no large ones.
constexpr std::size_t kKept = 4096;

TlsWire& of(BIO* bio) noexcept { return *static_cast<TlsWire*>(BIO_get_data(bio)); }

}  // namespace

BIO_METHOD* TlsWire::method() {
  static BIO_METHOD* const made = [] {
    BIO_METHOD* const fresh = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tiffany");
    if (fresh == nullptr) throw std::bad_alloc();
    BIO_meth_set_read(fresh, &on_read);
    BIO_meth_set_write(fresh, &on_write);
    BIO_meth_set_ctrl(fresh, &on_control);
    return fresh;
  }();
  return made;
}

BioPtr TlsWire::make_bio() {
  BioPtr bio(BIO_new(method()));
  if (bio == nullptr) throw std::bad_alloc();
  BIO_set_data(bio.get(), this);
  BIO_set_init(bio.get(), 1);
  return bio;
}

int TlsWire::on_read(BIO* bio, char* to, int size) noexcept {
  TlsWire& wire = of(bio);
  BIO_clear_retry_flags(bio);
  const std::size_t count = std::min(static_cast<std::size_t>(size), wire.end_ - wire.begin_);
  if (count == 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  std::memcpy(to, wire.in_.data() + wire.begin_, count);
  wire.begin_ += count;
  return static_cast<int>(count);
}

int TlsWire::on_write(BIO* bio, const char* from, int size) noexcept {
  BIO_clear_retry_flags(bio);
  std::vector<std::byte>& out = of(bio).out_;
  const auto* const bytes = reinterpret_cast<const std::byte*>(from);
  try {
    out.insert(out.end(), bytes, bytes + size);
  } catch (const std::bad_alloc&) {
    return -1;  // the call of OpenSSL fails, and the task with a sentence (TlsSession::failure)
  }
  return size;
}

long TlsWire::on_control(BIO*, int command, long, void*) noexcept {
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

void TlsWire::came(std::size_t size) noexcept {
  assert(begin_ == end_);
  begin_ = 0;
  end_ = size;
}

Bytes TlsWire::next() {
  if (sending_.empty()) std::swap(sending_, out_);
  return Bytes(sending_.data() + sent_, sending_.size() - sent_);
}

void TlsWire::sent(std::size_t size) noexcept {
  sent_ += size;
  if (sent_ < sending_.size()) return;
  sent_ = 0;
  sending_.clear();
  if (sending_.capacity() > kKept) std::vector<std::byte>().swap(sending_);
}

}  // namespace tiffany::io

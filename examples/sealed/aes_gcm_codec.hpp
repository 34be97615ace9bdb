// A codec for the values of a log: AES-256 in Galois/Counter Mode, by OpenSSL, with as many keys as
// the log has values of. The tests of the library use it, too.
#pragma once

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <tiffany/wal/payload_codec.hpp>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

class AesGcmCodec : public tiffany::wal::PayloadCodec {
 public:
  // Keys by their ids, each of 32 bytes; `current` is for what is written from now on.
  AesGcmCodec(std::map<std::string, std::string, std::less<>> keys, std::string current)
      : keys_(std::move(keys)), current_(std::move(current)) {}

  Encoded encode(std::string_view json) const override {
    std::string out(kNonce + json.size() + kTag, '\0');  // nonce, text, tag
    if (RAND_bytes(at(out, 0), kNonce) != 1) throw std::runtime_error("no random numbers.");
    const Context context = begin(current_, out, true);
    int size = 0;
    const bool done =
        EVP_CipherUpdate(context.get(), at(out, kNonce), &size, at(json), length(json)) == 1 &&
        EVP_CipherFinal_ex(context.get(), at(out, out.size() - kTag), &size) == 1 &&
        EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_GET_TAG, kTag,
                            at(out, out.size() - kTag)) == 1;
    if (!done) throw std::runtime_error("OpenSSL failed.");
    return {current_, out};
  }

  std::optional<std::string> decode(std::string_view key, std::string_view bytes) const override {
    if (!keys_.contains(key)) return std::nullopt;
    if (bytes.size() < kNonce + kTag) throw std::runtime_error("it is too short.");
    std::string in(bytes);
    const Context context = begin(key, in, false);
    std::string out(in.size() - kNonce - kTag, '\0');
    int size = 0;
    const bool done = EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_GCM_SET_TAG, kTag,
                                          at(in, in.size() - kTag)) == 1 &&
                      EVP_CipherUpdate(context.get(), at(out, 0), &size, at(in, kNonce),
                                       static_cast<int>(out.size())) == 1 &&
                      EVP_CipherFinal_ex(context.get(), at(in, in.size() - kTag), &size) == 1;
    if (!done) throw std::runtime_error("it was changed, or the key is another one.");
    return out;
  }

 private:
  static constexpr int kNonce = 12;
  static constexpr int kTag = 16;
  struct Free {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
  };
  using Context = std::unique_ptr<EVP_CIPHER_CTX, Free>;

  static unsigned char* at(std::string& text, std::size_t place) {
    return reinterpret_cast<unsigned char*>(text.data() + place);
  }
  static const unsigned char* at(std::string_view text) {
    return reinterpret_cast<const unsigned char*>(text.data());
  }
  static int length(std::string_view text) { return static_cast<int>(text.size()); }

  Context begin(std::string_view key, std::string_view nonce, bool encrypts) const {
    Context context(EVP_CIPHER_CTX_new());
    const std::string& secret = keys_.find(key)->second;
    const bool done = context != nullptr && secret.size() == 32 &&
                      EVP_CipherInit_ex(context.get(), EVP_aes_256_gcm(), nullptr, at(secret),
                                        at(nonce), encrypts ? 1 : 0) == 1;
    if (!done) throw std::runtime_error("OpenSSL does not take key " + std::string(key) + ".");
    return context;
  }

  std::map<std::string, std::string, std::less<>> keys_;
  std::string current_;
};

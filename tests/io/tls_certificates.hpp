// Certificates for the tests of TLS, made when they are needed: a private authority, and a server
// in every state that a server can be in.
#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>

namespace tiffany::test {

class Certificates {
 public:
  // Files.
  struct Identity {
    std::string certificate;
    std::string key;
  };

  static const Certificates& get() {
    static const Certificates made;
    return made;
  }

  const std::string& directory() const { return directory_; }
  const Identity& authority() const { return authority_; }
  const Identity& good() const { return good_; }  // for localhost and 127.0.0.1
  const Identity& expired() const { return expired_; }
  const Identity& future() const { return future_; }
  const Identity& other_host() const { return other_host_; }  // for elsewhere.example
  const Identity& self_signed() const { return self_signed_; }
  const Identity& with_pass_phrase() const { return with_pass_phrase_; }

 private:
  template <auto kFree>
  struct Free {
    template <class T>
    void operator()(T* object) const {
      kFree(object);
    }
  };
  using Key = std::unique_ptr<EVP_PKEY, Free<&EVP_PKEY_free>>;
  using Certificate = std::unique_ptr<X509, Free<&X509_free>>;
  using Extension = std::unique_ptr<X509_EXTENSION, Free<&X509_EXTENSION_free>>;
  static constexpr long kDay = 24 * 60 * 60;

  static std::string make_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "tiffany-tls-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no directory for certificates");
    return name;
  }

  Certificates() : directory_(make_directory()) {
    const Key authority_key = make_key();
    const Certificate authority =
        issue("Tiffany test authority", "", *authority_key, nullptr, *authority_key, -1, 1);
    authority_ = save("authority", *authority, *authority_key);
    const auto server = [&](const char* file, const char* names, long from, long to) {
      const Key key = make_key();
      const Certificate made = issue(file, names, *key, authority.get(), *authority_key, from, to);
      return save(file, *made, *key);
    };
    good_ = server("good", "DNS:localhost,IP:127.0.0.1", -1, 1);
    expired_ = server("expired", "DNS:localhost", -3, -2);
    future_ = server("future", "DNS:localhost", 2, 3);
    other_host_ = server("other_host", "DNS:elsewhere.example,DNS:*.wide.example", -1, 1);
    const Key own = make_key();
    const Certificate lonely =
        issue("lonely", "DNS:localhost,IP:127.0.0.1", *own, nullptr, *own, -1, 1);
    self_signed_ = save("self_signed", *lonely, *own);
    with_pass_phrase_ = save("with_pass_phrase", *lonely, *own, "secret");
  }
  ~Certificates() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  static Key make_key() { return Key(EVP_EC_gen("P-256")); }

  // Signed by itself when there is no issuer. Times are in days from now.
  static Certificate issue(const std::string& name, const std::string& names, EVP_PKEY& key,
                           X509* issuer, EVP_PKEY& issuer_key, long from, long to) {
    static long serial = 1;
    Certificate made(X509_new());
    X509* const x = made.get();
    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), serial++);
    X509_gmtime_adj(X509_getm_notBefore(x), from * kDay);
    X509_gmtime_adj(X509_getm_notAfter(x), to * kDay);
    X509_set_pubkey(x, &key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(x, X509_get_subject_name(issuer != nullptr ? issuer : x));
    const auto extend = [&](int kind, const std::string& value) {
      X509V3_CTX context{};
      X509V3_set_ctx(&context, issuer != nullptr ? issuer : x, x, nullptr, nullptr, 0);
      const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
      if (extension == nullptr) throw std::runtime_error("bad extension " + value);
      X509_add_ext(x, extension.get(), -1);
    };
    extend(NID_basic_constraints, names.empty() ? "critical,CA:TRUE" : "CA:FALSE");
    extend(NID_subject_key_identifier, "hash");
    if (!names.empty()) extend(NID_subject_alt_name, names);
    if (X509_sign(x, &issuer_key, EVP_sha256()) == 0) throw std::runtime_error("cannot sign");
    return made;
  }

  Identity save(const std::string& name, X509& certificate, EVP_PKEY& key,
                const char* pass_phrase = nullptr) const {
    Identity files{directory_ + "/" + name + ".pem", directory_ + "/" + name + ".key"};
    const auto write = [](const std::string& path, auto&& into) {
      std::FILE* const file = std::fopen(path.c_str(), "w");
      if (file == nullptr || into(file) != 1) throw std::runtime_error("cannot write " + path);
      std::fclose(file);
    };
    write(files.certificate, [&](std::FILE* f) { return PEM_write_X509(f, &certificate); });
    write(files.key, [&](std::FILE* f) {
      return PEM_write_PrivateKey(
          f, &key, pass_phrase != nullptr ? EVP_aes_128_cbc() : nullptr,
          reinterpret_cast<const unsigned char*>(pass_phrase),
          pass_phrase != nullptr ? static_cast<int>(std::string(pass_phrase).size()) : 0, nullptr,
          nullptr);
    });
    return files;
  }

  std::string directory_;
  Identity authority_;
  Identity good_;
  Identity expired_;
  Identity future_;
  Identity other_host_;
  Identity self_signed_;
  Identity with_pass_phrase_;
};

}  // namespace tiffany::test

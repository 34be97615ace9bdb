#include "io/tls_error.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <string_view>

namespace tiffany::io {
namespace {

// So many names of a certificate are listed.
constexpr int kNames = 8;

// Certificates are made by strangers, and sentences end up in logs.
std::string harmless(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return text;
}

std::string text_of(const X509_NAME* name) {
  const BioPtr out(BIO_new(BIO_s_mem()));
  if (out == nullptr || X509_NAME_print_ex(out.get(), name, 0, XN_FLAG_ONELINE) < 0) return "?";
  char* data = nullptr;
  const long size = BIO_get_mem_data(out.get(), &data);
  return size <= 0 ? "nobody" : harmless(std::string(data, static_cast<std::size_t>(size)));
}

std::string text_of(const ASN1_TIME* time) {
  std::tm broken_down{};
  if (ASN1_TIME_to_tm(time, &broken_down) != 1) return "an unreadable date";
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &broken_down);
  return text.data();
}

std::string text_of(const GENERAL_NAME& name) {
  if (name.type == GEN_DNS || name.type == GEN_EMAIL || name.type == GEN_URI) {
    const ASN1_IA5STRING* const string = name.d.ia5;  // the same member for all three
    const auto* text = reinterpret_cast<const char*>(ASN1_STRING_get0_data(string));
    return harmless(std::string(text, static_cast<std::size_t>(ASN1_STRING_length(string))));
  }
  if (name.type == GEN_IPADD) {
    std::array<char, INET6_ADDRSTRLEN> text{};
    const int family = ASN1_STRING_length(name.d.iPAddress) == 4 ? AF_INET : AF_INET6;
    inet_ntop(family, ASN1_STRING_get0_data(name.d.iPAddress), text.data(), text.size());
    return text.data();
  }
  return {};
}

// What a certificate is for: "a, b and c".
std::string names_of(const X509& certificate) {
  std::string all;
  int listed = 0;
  for (const std::string& name : alternative_names_of(certificate)) {
    if (++listed > kNames) return all + " and others";
    all += (listed == 1 ? "" : ", ") + name;
  }
  return listed == 0 ? "no host at all" : all;
}

struct Explanation {
  std::string what;
  std::string advice;
};

Explanation explain(const Verdict& verdict, const X509& certificate, const std::string& host,
                    bool we_are_server) {
  const std::string trust_it =
      we_are_server
          ? "If you trust it, add its certificate to the file that verify_clients() reads."
          : "If you trust it, add its certificate with TlsContext::trust(); if not, somebody may "
            "be "
            "impersonating the server.";
  const std::string other = we_are_server ? "The client" : "The server";
  switch (verdict.error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return {"it expired on " + text_of(X509_get0_notAfter(&certificate)),
              other + " needs a new one, unless the clock of this machine is wrong."};
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return {"it is not valid before " + text_of(X509_get0_notBefore(&certificate)),
              "Is the clock of this machine right?"};
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return {"it is for " + names_of(certificate) + ", and not for " + host,
              "Connect by a name that it is for, or give the server a certificate for this one."};
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
      return {"it is signed by itself and by nobody that is trusted", trust_it};
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
      return {"its chain ends at \"" + text_of(X509_get_subject_name(&certificate)) +
                  "\", which is not trusted",
              trust_it};
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return {"it was issued by \"" + text_of(X509_get_issuer_name(&certificate)) +
                  "\", which is not trusted",
              trust_it + " " + other + " must also send the certificates between its own and the " +
                  "trusted one."};
    default:
      return {X509_verify_cert_error_string(verdict.error), other + " needs another certificate."};
  }
}

// The alerts that say: I do not like your certificate.
bool about_certificates(int alert) noexcept {
  return (alert >= SSL_AD_BAD_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN) ||
         alert == SSL_AD_UNKNOWN_CA;
}

Explanation explain(int reason, bool we_are_server) {
  const int alert = reason - SSL_AD_REASON_OFFSET;
  if (we_are_server && about_certificates(alert)) {
    return {std::string("the client refused our certificate (") +
                SSL_alert_desc_string_long(alert) + ")",
            "It must be for the name that the client connects to, in date, and issued by somebody "
            "that the client trusts."};
  }
  if (!we_are_server && about_certificates(alert)) {
    return {std::string("the server refused our certificate (") +
                SSL_alert_desc_string_long(alert) + ")",
            "It must be in date, and issued by somebody whom the server gave to verify_clients()."};
  }
  switch (reason) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return {"the client showed no certificate", "It needs one: TlsContext::identity()."};
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
      return {"the server wants a certificate of us", "Give it one with TlsContext::identity()."};
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return {"the client speaks plain HTTP", "Its address should begin with https://."};
    case SSL_R_WRONG_VERSION_NUMBER:
      return {"what the other side sent is not TLS", "Is it the right port?"};
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return {"there is no version that both sides speak", "We speak TLS 1.2 and 1.3."};
    case SSL_R_NO_SHARED_CIPHER:
      return {"there is no cipher that both sides have",
              "Does the certificate have an RSA or EC key?"};
    case SSL_R_NO_APPLICATION_PROTOCOL:
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
      return {"there is no protocol that both sides offer", "Compare what the two give to alpn()."};
    case SSL_R_DECRYPTION_FAILED_OR_BAD_RECORD_MAC:
      return {"a record was damaged or forged on its way", "Connect again."};
    default:
      break;
  }
  if (alert >= 0 && alert < 256) {
    return {std::string("the other side refused it (") + SSL_alert_desc_string_long(alert) + ")",
            "Its log may say why."};
  }
  return {};
}

}  // namespace

std::string subject_of(const X509& certificate) {
  return text_of(X509_get_subject_name(&certificate));
}

std::vector<std::string> alternative_names_of(const X509& certificate) {
  const NamesPtr names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> all;
  const int count = names == nullptr ? 0 : sk_GENERAL_NAME_num(names.get());
  for (int i = 0; i < count; ++i) {
    std::string name = text_of(*sk_GENERAL_NAME_value(names.get(), i));
    if (!name.empty()) all.push_back(std::move(name));
  }
  return all;
}

std::string last_tls_error() {
  const unsigned long first = ERR_get_error();
  ERR_clear_error();
  if (first == 0) return "no memory";
  if (ERR_SYSTEM_ERROR(first)) return harmless(std::strerror(ERR_GET_REASON(first)));
  const char* const reason = ERR_reason_error_string(first);
  return reason != nullptr ? reason : "error " + std::to_string(first) + " of OpenSSL";
}

Error certificate_refused(const Verdict& verdict, const std::string& host, const std::string& whom,
                          bool we_are_server) {
  ERR_clear_error();
  Explanation why = verdict.certificate == nullptr
                        ? Explanation{X509_verify_cert_error_string(verdict.error), ""}
                        : explain(verdict, *verdict.certificate, host, we_are_server);
  std::string sentence = "The certificate of " + whom + " was refused: ";
  if (verdict.depth > 0 && verdict.certificate != nullptr &&
      verdict.error != X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN) {
    sentence += "in its chain, that of \"" +
                text_of(X509_get_subject_name(verdict.certificate.get())) + "\": ";
  }
  sentence += why.what + ".";
  if (!why.advice.empty()) sentence += " " + why.advice;
  return {Errc::tls_refused, sentence};
}

Error tls_failure(const std::string& what, bool we_are_server) {
  const unsigned long first = ERR_peek_error();
  Explanation why;
  if (ERR_GET_LIB(first) == ERR_LIB_SSL) why = explain(ERR_GET_REASON(first), we_are_server);
  if (why.what.empty()) why.what = last_tls_error();
  ERR_clear_error();
  const bool refused = ERR_GET_REASON(first) == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE;
  return {refused ? Errc::tls_refused : Errc::tls_failed,
          what + " failed: " + why.what + "." + (why.advice.empty() ? "" : " " + why.advice)};
}

}  // namespace tiffany::io

#include "agent/model_tls.hpp"

#include <utility>

#include "tiffany/io/tls.hpp"

namespace tiffany::agent {

class ModelTls::Context {
 public:
  explicit Context(const std::string& trust) : tls(make(trust)) {}
  TlsContext tls;

 private:
  static TlsContext make(const std::string& trust) {
    if (trust.empty()) return TlsContext::client().alpn({"http/1.1"});
    return TlsContext::client().trust(trust).alpn({"http/1.1"});
  }
};

ModelTls::ModelTls(const std::string& trust) : context_(std::make_unique<Context>(trust)) {}
ModelTls::~ModelTls() = default;

Task<AnyStream> ModelTls::secure(Socket socket, std::string host) {
  TlsStream stream = co_await tls_connect(std::move(socket), context_->tls, host);
  co_return AnyStream(std::move(stream));
}

}  // namespace tiffany::agent

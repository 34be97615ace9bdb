#include "agent/model_tls.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {

class ModelTls::Context {};

ModelTls::ModelTls(const std::string&) {
  throw Error(
      Errc::bad_argument,
      "This program was built without TLS (TIFFANY_TLS), and cannot ask an https endpoint.");
}
ModelTls::~ModelTls() = default;

Task<AnyStream> ModelTls::secure(Socket socket, std::string) {
  co_return AnyStream(std::move(socket));  // there is no object of this class
}

}  // namespace tiffany::agent

// TLS for endpoints; where it is not compiled in, a sentence that says so.
#pragma once

#include <memory>
#include <string>

#include "tiffany/engine/task.hpp"
#include "tiffany/io/any_stream.hpp"
#include "tiffany/io/socket.hpp"

namespace tiffany::agent {

class ModelTls {
 public:
  // `trust`: a PEM file besides what the system trusts, or empty.
  explicit ModelTls(const std::string& trust);
  ~ModelTls();
  ModelTls(const ModelTls&) = delete;
  ModelTls& operator=(const ModelTls&) = delete;

  Task<AnyStream> secure(Socket socket, std::string host);

 private:
  class Context;
  std::unique_ptr<Context> context_;
};

}  // namespace tiffany::agent

// gzip (RFC 1952), for answers that are long.
#pragma once

#include <string>
#include <string_view>

#include "tiffany/serve/http.hpp"

namespace tiffany::http {

std::string gzipped(std::string_view bytes);

// Compresses the body when the client accepts that and it is worth it: texts of a kilobyte or more.
void compress_for(const Request& request, Response& response);

}  // namespace tiffany::http

// Where an endpoint is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tiffany::agent {

struct EndpointUrl {
  bool encrypted = false;
  std::string host{};  // a name, or an address without brackets
  std::uint16_t port = 0;
  std::string path{};  // "/v1": without a slash at its end

  std::string authority() const;  // of the header host
  bool on_loopback() const;       // by its address, or as localhost
};

// "https://api.example.org/v1", "http://127.0.0.1:8080", "http://[::1]:8080/openai/v1". Without a
// path it is `usual_path`. Error (bad_argument) for everything else: names and passwords of users,
// queries, other schemes, spaces and control characters.
EndpointUrl parse_endpoint_url(std::string_view url, std::string_view usual_path = "/v1");

}  // namespace tiffany::agent

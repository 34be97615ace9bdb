#include "tiffany/serve/gzip.hpp"

#include <cstdint>
#include <stdexcept>

#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/crc.hpp>

namespace tiffany::http {
namespace {

constexpr std::size_t kWorthIt = 1024;

void append_little(std::string& out, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift & 0xff);
}

bool is_text(std::string_view type) noexcept {
  return type.starts_with("text/") || type.find("json") != std::string_view::npos ||
         type.find("javascript") != std::string_view::npos ||
         type.find("xml") != std::string_view::npos;
}

// "gzip;q=0" says that it is not accepted.
bool accepts_gzip(const Request& request) noexcept {
  const std::string_view accepted = request.headers.find("accept-encoding").value_or("");
  const std::size_t at = accepted.find("gzip");
  if (at == std::string_view::npos) return false;
  const std::string_view rest = accepted.substr(at + 4);
  return !rest.starts_with(";q=0") || rest.starts_with(";q=0.");
}

}  // namespace

std::string gzipped(std::string_view bytes) {
  namespace zlib = boost::beast::zlib;
  constexpr std::string_view kHead("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10);
  constexpr int kLevel = 6;
  constexpr int kWindow = 15;
  constexpr int kMemory = 8;
  zlib::deflate_stream stream;
  stream.reset(kLevel, kWindow, kMemory, zlib::Strategy::normal);
  std::string out(kHead);
  const std::size_t most = stream.upper_bound(bytes.size()) + 16;
  out.resize(kHead.size() + most);
  zlib::z_params state;
  state.next_in = bytes.data();
  state.avail_in = bytes.size();
  state.next_out = out.data() + kHead.size();
  state.avail_out = most;
  boost::system::error_code error;
  stream.write(state, zlib::Flush::finish, error);
  if (error != zlib::error::end_of_stream) throw std::runtime_error("deflate: " + error.message());
  out.resize(kHead.size() + most - state.avail_out);
  boost::crc_32_type crc;
  crc.process_bytes(bytes.data(), bytes.size());
  append_little(out, crc.checksum());
  append_little(out, static_cast<std::uint32_t>(bytes.size()));
  return out;
}

void compress_for(const Request& request, Response& response) {
  if (response.body.size() < kWorthIt || response.headers.has("content-encoding")) return;
  if (!is_text(response.headers.find("content-type").value_or(""))) return;
  response.headers.add("vary", "accept-encoding");
  if (!accepts_gzip(request)) return;
  response.body = gzipped(response.body);
  response.headers.set("content-encoding", "gzip");
}

}  // namespace tiffany::http

#include "tiffany/serve/gzip.hpp"

#include <gtest/gtest.h>

#include <boost/beast/zlib/inflate_stream.hpp>
#include <boost/crc.hpp>

namespace tiffany::gzip_test {

// What another reader of the format makes of it; empty when it is not whole.
std::string unpacked(const std::string& bytes, std::size_t size) {
  namespace zlib = boost::beast::zlib;
  EXPECT_EQ(bytes.substr(0, 3), "\x1f\x8b\x08");
  zlib::inflate_stream stream;
  std::string out(size + 1, '\0');
  zlib::z_params state;
  state.next_in = bytes.data() + 10;
  state.avail_in = bytes.size() - 18;
  state.next_out = out.data();
  state.avail_out = out.size();
  boost::system::error_code error;
  stream.write(state, zlib::Flush::finish, error);
  EXPECT_EQ(error, zlib::error::end_of_stream);
  out.resize(out.size() - state.avail_out);
  boost::crc_32_type crc;
  crc.process_bytes(out.data(), out.size());
  std::uint32_t said = 0;
  for (int i = 3; i >= 0; --i) {
    said = said << 8 |
           static_cast<unsigned char>(bytes[bytes.size() - 8 + static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(crc.checksum(), said);
  return out;
}

TEST(Gzip, WhatIsPackedIsUnpackedByAnotherReader) {
  std::string noise;
  for (std::uint32_t i = 0, x = 1; i < 200'000; ++i)
    noise += static_cast<char>((x = x * 1664525 + 1013904223) >> 24);
  for (const std::string& text :
       {std::string(), std::string("x"), std::string(1'000'000, 'a'), noise}) {
    EXPECT_EQ(unpacked(http::gzipped(text), text.size()), text) << text.size();
  }
}

TEST(Gzip, OnlyLongTextsAreCompressedAndOnlyForThoseWhoAcceptIt) {
  const auto encoding = [](const char* accepts, const char* type, std::size_t size) {
    http::Request request;
    if (accepts != nullptr) request.headers.set("accept-encoding", accepts);
    http::Response response(200, type, std::string(size, 'x'));
    http::compress_for(request, response);
    return std::string(response.headers.find("content-encoding").value_or("none"));
  };
  EXPECT_EQ(encoding("gzip, deflate", "application/json", 5000), "gzip");
  EXPECT_EQ(encoding("br;q=1.0, gzip;q=0.8", "text/html", 5000), "gzip");
  EXPECT_EQ(encoding("gzip;q=0", "text/html", 5000), "none");
  EXPECT_EQ(encoding(nullptr, "text/html", 5000), "none");
  EXPECT_EQ(encoding("gzip", "image/png", 5000), "none");
  EXPECT_EQ(encoding("gzip", "application/json", 500), "none");
}

}  // namespace tiffany::gzip_test

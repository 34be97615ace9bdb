// What clients of MCP are shown: texts, pictures, sounds, and resources with their address.
//
//   Contents("hello")                                          one text
//   Contents{Content("The chart:"), Content::image(png, "image/png")}
//
// The result of a task (`Durable<Contents>`, with App::tool), of a prompt and of a resource
// (App::prompt, App::resource). As JSON it is what MCP calls a content; bytes are in base64, and a
// result lies in the log like every other.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/codec.hpp"

namespace tiffany {

class Content {
 public:
  enum class Kind : std::uint8_t { text, image, audio, resource };

  Content() = default;
  Content(std::string words, std::string mime = "text/plain")  // NOLINT: a text is a content
      : mime_(std::move(mime)), bytes_(std::move(words)) {}
  Content(const char* words) : Content(std::string(words)) {}  // NOLINT: the same
  static Content image(std::string bytes, std::string mime);
  static Content audio(std::string bytes, std::string mime);
  // A resource as part of something else. Its text must be UTF-8.
  static Content resource(std::string uri, std::string text, std::string mime = "text/plain");
  static Content file(std::string uri, std::string bytes, std::string mime);

  Kind kind() const noexcept { return kind_; }
  const std::string& mime() const noexcept { return mime_; }
  const std::string& bytes() const noexcept { return bytes_; }
  const std::string& uri() const noexcept { return uri_; }  // of a resource
  // Whether the bytes are a text, and not written in base64.
  bool is_text() const noexcept { return text_; }
  friend bool operator==(const Content&, const Content&) = default;

 private:
  Kind kind_ = Kind::text;
  bool text_ = true;
  std::string mime_ = "text/plain";
  std::string bytes_;
  std::string uri_;
};

class Contents {
 public:
  Contents() = default;
  Contents(Content one) { all.push_back(std::move(one)); }            // NOLINT: one is several
  Contents(std::string text) : Contents(Content(std::move(text))) {}  // NOLINT: the same
  Contents(const char* text) : Contents(Content(text)) {}             // NOLINT: the same
  Contents(std::initializer_list<Content> several) : all(several) {}
  friend bool operator==(const Contents&, const Contents&) = default;

  std::vector<Content> all{};
};

template <>
struct Codec<Content> {
  static void write(JsonWriter& out, const Content& value);
  static Content read(JsonReader& in);
};
template <>
struct Codec<Contents> {
  static void write(JsonWriter& out, const Contents& value);
  static Contents read(JsonReader& in);
};

}  // namespace tiffany

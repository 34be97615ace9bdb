#include "tiffany/app/content.hpp"

#include "tiffany/base/base64.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany {
namespace {

Content::Kind content_kind(const std::string& type) {
  if (type == "text") return Content::Kind::text;
  if (type == "image") return Content::Kind::image;
  if (type == "audio") return Content::Kind::audio;
  if (type == "resource") return Content::Kind::resource;
  throw Error(Errc::bad_json, "A content has the type text, image, audio or resource.");
}

std::string decoded_content(const std::string& base64) {
  std::optional<std::string> bytes = from_base64(base64);
  if (!bytes) throw Error(Errc::bad_json, "The bytes of a content are in base64.");
  return std::move(*bytes);
}

// What the members of a content, and of the resource in it, say.
struct ContentMembers {
  std::string type{};
  std::string text{};
  std::string bytes{};
  std::string mime = "text/plain";
  std::string uri{};
  bool binary = false;
};

void read_content_members(JsonReader& in, ContentMembers& members) {
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (name == "type") {
      members.type = in.string();
    } else if (name == "text") {
      members.text = in.string();
    } else if (name == "data" || name == "blob") {
      members.bytes = decoded_content(in.string());
      members.binary = true;
    } else if (name == "mimeType") {
      members.mime = in.string();
    } else if (name == "uri") {
      members.uri = in.string();
    } else if (name == "resource") {
      read_content_members(in, members);
    } else {
      in.raw();
    }
  }
}

}  // namespace

Content Content::image(std::string bytes, std::string mime) {
  Content content(std::move(bytes), std::move(mime));
  content.kind_ = Kind::image;
  content.text_ = false;
  return content;
}

Content Content::audio(std::string bytes, std::string mime) {
  Content content = image(std::move(bytes), std::move(mime));
  content.kind_ = Kind::audio;
  return content;
}

Content Content::resource(std::string uri, std::string text, std::string mime) {
  Content content(std::move(text), std::move(mime));
  content.kind_ = Kind::resource;
  content.uri_ = std::move(uri);
  return content;
}

Content Content::file(std::string uri, std::string bytes, std::string mime) {
  Content content = resource(std::move(uri), std::move(bytes), std::move(mime));
  content.text_ = false;
  return content;
}

void Codec<Content>::write(JsonWriter& out, const Content& value) {
  out.begin_object();
  switch (value.kind()) {
    case Content::Kind::text:
      out.member("type", "text");
      out.member("text", value.bytes());
      if (value.mime() != "text/plain") out.member("mimeType", value.mime());
      break;
    case Content::Kind::image:
    case Content::Kind::audio:
      out.member("type", value.kind() == Content::Kind::image ? "image" : "audio");
      out.member("data", to_base64(value.bytes()));
      out.member("mimeType", value.mime());
      break;
    case Content::Kind::resource:
      out.member("type", "resource");
      out.key("resource");
      out.begin_object();
      out.member("uri", value.uri());
      out.member("mimeType", value.mime());
      if (value.is_text()) {
        out.member("text", value.bytes());
      } else {
        out.member("blob", to_base64(value.bytes()));
      }
      out.end_object();
      break;
  }
  out.end_object();
}

Content Codec<Content>::read(JsonReader& in) {
  ContentMembers members;
  read_content_members(in, members);
  switch (content_kind(members.type)) {
    case Content::Kind::image:
      return Content::image(std::move(members.bytes), std::move(members.mime));
    case Content::Kind::audio:
      return Content::audio(std::move(members.bytes), std::move(members.mime));
    case Content::Kind::resource:
      if (members.binary) {
        return Content::file(std::move(members.uri), std::move(members.bytes),
                             std::move(members.mime));
      }
      return Content::resource(std::move(members.uri), std::move(members.text),
                               std::move(members.mime));
    case Content::Kind::text:
      break;
  }
  return Content(std::move(members.text), std::move(members.mime));
}

void Codec<Contents>::write(JsonWriter& out, const Contents& value) {
  out.begin_array();
  for (const Content& each : value.all) write_json(out, each);
  out.end_array();
}

Contents Codec<Contents>::read(JsonReader& in) {
  Contents contents;
  in.begin_array();
  while (in.next_element()) contents.all.push_back(read_json<Content>(in));
  return contents;
}

}  // namespace tiffany

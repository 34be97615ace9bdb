#include "tiffany/wal/payload_codec.hpp"

#include <algorithm>

#include "base/thrown.hpp"
#include "tiffany/base/base64.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"

namespace tiffany::wal {
namespace {

constexpr std::string_view kEncoded = R"({"$encoded":")";
constexpr std::string_view kData = R"(","data":")";
constexpr std::string_view kEnd = R"("})";
constexpr std::size_t kLongestKey = 64;

struct Parts {
  std::string_view key;  // empty: a value that only looks like an encoded one
  std::string_view data;
  std::size_t size = 0;  // of all
};

bool is_key(std::string_view key) noexcept {
  return key.size() <= kLongestKey && std::all_of(key.begin(), key.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '-' || c == '_';
         });
}

// At the beginning of a text.
std::optional<Parts> parts_of(std::string_view text) noexcept {
  if (!text.starts_with(kEncoded)) return std::nullopt;
  std::string_view rest = text.substr(kEncoded.size());
  const std::size_t key = rest.find('"');
  if (key == std::string_view::npos || !is_key(rest.substr(0, key))) return std::nullopt;
  if (!rest.substr(key).starts_with(kData)) return std::nullopt;
  Parts parts;
  parts.key = rest.substr(0, key);
  rest = rest.substr(key + kData.size());
  const std::size_t data = rest.find('"');
  if (data == std::string_view::npos || !rest.substr(data).starts_with(kEnd)) return std::nullopt;
  parts.data = rest.substr(0, data);
  parts.size = kEncoded.size() + key + kData.size() + data + kEnd.size();
  return parts;
}
std::optional<Parts> all_of(std::string_view text) noexcept {
  const std::optional<Parts> parts = parts_of(text);
  return parts && parts->size == text.size() ? parts : std::nullopt;
}

constexpr std::string_view kNoException = "it threw something that is no std::exception.";

std::string text_of(std::string_view key, std::string_view bytes) {
  return std::string(kEncoded) + std::string(key) + std::string(kData) + to_base64(bytes) +
         std::string(kEnd);
}

std::string summary(const Parts& parts) {
  return "<encrypted, key " + std::string(parts.key) + ", " +
         std::to_string(base64_bytes(parts.data)) + " bytes>";
}

// Why it cannot be, in `why`.
std::optional<std::string> try_decode(const PayloadCodec* codec, const Parts& parts,
                                      std::string& why) {
  const std::optional<std::string> bytes = from_base64(parts.data);
  if (!bytes) {
    why = ", and its data are no base64.";
    return std::nullopt;
  }
  if (parts.key.empty()) return bytes;
  if (codec == nullptr) {
    why = ", and this program was given no codec. Give the one that wrote it (LogOptions::codec).";
    return std::nullopt;
  }
  try {
    std::optional<std::string> value = codec->decode(parts.key, *bytes);
    if (!value) why = ", which the codec of this program does not know. Give it that key.";
    return value;
  } catch (...) {
    why = ", and the codec cannot decode it: " + caught_sentence(kNoException);
  }
  return std::nullopt;
}

}  // namespace

PayloadCodec::~PayloadCodec() = default;

bool maybe_encoded(std::string_view recorded) noexcept { return recorded.starts_with(kEncoded); }

std::string encoded_value(const PayloadCodec* codec, const std::string& value) {
  // A value of a user that could be taken for an encoded one has the empty key.
  if (codec == nullptr) return maybe_encoded(value) ? text_of("", value) : value;
  PayloadCodec::Encoded encoded;
  std::string why;
  try {
    encoded = codec->encode(value);
    if (encoded.key.empty() || !is_key(encoded.key)) {
      why = "the id of its key is not 1 to 64 letters, digits, dots, hyphens and underscores.";
    }
  } catch (...) {
    why = caught_sentence(kNoException);
  }
  if (why.empty()) return text_of(encoded.key, encoded.bytes);
  throw Error(Errc::value_not_encoded, "The codec cannot encode a value of " +
                                           std::to_string(value.size()) + " bytes: " + why);
}

std::string decoded_value(const PayloadCodec* codec, std::string recorded) {
  const std::optional<Parts> parts = all_of(recorded);
  const bool clear = !parts || parts->key.empty();
  if (clear && codec != nullptr && !codec->accepts_clear()) {
    throw Error(Errc::value_not_decoded,
                "It has no key: it is in clear text, and the codec of this program does not "
                "accept that (PayloadCodec::accepts_clear).");
  }
  if (!parts) return recorded;
  std::string why;
  std::optional<std::string> value = try_decode(codec, *parts, why);
  if (value) return std::move(*value);
  throw Error(Errc::value_not_decoded, "It is encoded with key \"" + std::string(parts->key) +
                                           "\" (" + std::to_string(base64_bytes(parts->data)) +
                                           " bytes)" + why);
}

std::string encoded_summary(std::string_view recorded) {
  const std::optional<Parts> parts = all_of(recorded);
  return parts && !parts->key.empty() ? summary(*parts) : std::string();
}

// Within a string the quotes of the marker have a backslash before them, so that what looks like
// the marker is one.
std::string decoded_line(const PayloadCodec* codec, std::string_view line) {
  std::string shown;
  for (;;) {
    const std::size_t at = line.find(kEncoded);
    shown += line.substr(0, at);
    if (at == std::string_view::npos) return shown;
    line.remove_prefix(at);
    const std::optional<Parts> parts = parts_of(line);
    if (!parts) {
      shown += kEncoded;
      line.remove_prefix(kEncoded.size());
      continue;
    }
    std::string why;
    if (const std::optional<std::string> value = try_decode(codec, *parts, why)) {
      shown += *value;
    } else {
      JsonWriter(shown).value(summary(*parts));
    }
    line.remove_prefix(parts->size);
  }
}

}  // namespace tiffany::wal

// Base64 (RFC 4648, section 4, with padding), for bytes within JSON.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tiffany {

std::string to_base64(std::string_view bytes);
// None: the text is not what to_base64 gives, to the last bit.
std::optional<std::string> from_base64(std::string_view text);
// How many bytes the text stands for, without reading it.
std::size_t base64_bytes(std::string_view text) noexcept;

}  // namespace tiffany

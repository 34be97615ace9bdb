// Files of a daemon that are read and written as a whole. Internal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tiffany::app {

inline constexpr std::size_t kLongestSmallFile = std::size_t{1} << 20;

// Nothing: there is no such file. Throws IoError for all else that keeps it from being read, among
// it that it is longer than `most`.
std::optional<std::string> read_small_file(const std::string& path,
                                           std::size_t most = kLongestSmallFile);

// For nobody but the user. When it returns, the content is on the disk below this name; when it
// throws IoError, what was there before is still there.
void write_private_file(const std::string& path, std::string_view content);

// With those above it, when it is not there; for nobody but the user. One that is there is refused
// (Errc::bad_argument) when others may look into it.
void make_private_directory(const std::string& path);

}  // namespace tiffany::app

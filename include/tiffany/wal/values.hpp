// Values that are too long for a line of the log lie beside it, each in a file that is named by
// what is in it: values/<SHA-256>.json. The record has a reference instead,
// {"$value":"<SHA-256>","size":<bytes>}, and is written when the file is on the disk.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "tiffany/wal/disk.hpp"

namespace tiffany::wal {

inline constexpr std::size_t kLongestValue = std::size_t{64} << 10;

// Longer than a line may carry; or it could be taken for a reference.
bool belongs_aside(std::string_view json) noexcept;
std::string value_name(std::string_view json);  // the SHA-256
std::string value_reference(const std::string& name, std::size_t size);

// Adds those that are named in a text.
void find_values(std::string_view text, std::unordered_set<std::string>& names);

// Adds only those that the payload of a record refers to: a member that is a reference, or one in
// the list of a checkpoint. What a user has written into a value is not taken for a reference.
void find_references(std::string_view payload, std::unordered_set<std::string>& names);

// The value that a record means: what it carries, or what its reference names. Errc::log_damaged
// when the file is missing, or is not what its name says.
std::string value_of(Disk& disk, const std::string& directory, std::string_view json);

}  // namespace tiffany::wal

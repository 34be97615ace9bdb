// The files of a skill, as bytes. Internal.
#pragma once

#include <map>
#include <string>

namespace tiffany::agent {

// By their paths below the directory. Errc::bad_tool as read_skill() has it.
std::map<std::string, std::string> read_skill_files(const std::string& directory);
// SHA-256 over the paths and what the files hold.
std::string digest_of_files(const std::map<std::string, std::string>& files);

[[noreturn]] void refuse_skill(const std::string& directory, const std::string& why);

}  // namespace tiffany::agent

// Files in the directories of commands. A command may have put anything there.
#pragma once

#include <optional>
#include <string>

#include "tiffany/base/codec.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/io/descriptor.hpp"

namespace tiffany::exec {

// None: there is no such file. What is no file is refused (Errc::command_damaged), and neither
// opened with a wait nor followed.
std::optional<Descriptor> open_plain(const std::string& path);
// All of it, read here and now. None: there is no such file.
std::optional<std::string> small_file(const std::string& path);
bool exists(const std::string& path);
// The command in this directory.
bool has_begun(const std::string& at);

template <class T>
std::optional<T> record_in(const std::string& path) {
  const std::optional<std::string> text = small_file(path);
  if (!text) return std::nullopt;
  try {
    return from_json<T>(*text);
  } catch (const Error& error) {
    throw Error(Errc::command_damaged,
                "The file " + path + " is damaged: " + error.what() +
                    " Nobody knows how the command ended. Remove its directory to forget it.");
  }
}

}  // namespace tiffany::exec

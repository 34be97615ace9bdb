// Paths inside of a canvas: which are allowed, and patterns over them.
#pragma once

#include <string>
#include <string_view>

namespace tiffany::agent {

// Empty: the path may be in a tree. Otherwise a sentence that says why not: it is absolute, goes
// up, has an empty part or one that a file system takes for ".git" (upper case, characters that
// HFS+ ignores, short names and streams of NTFS), is not UTF-8 or too long.
std::string canvas_path_problem(std::string_view path);
// An Error bad_argument with that sentence.
void check_canvas_path(std::string_view path);

// Whether the target of a symbolic link stays below the root, wherever other links point that do
// so as well: relative, and ".." only at its beginning and not more often than the link has
// directories above it. `path` is that of the link.
bool link_stays_inside(std::string_view path, std::string_view target);

// '*' and '?' within a part of the path, "**" over any number of parts. A pattern without a slash
// is for the last part alone.
bool glob_matches(std::string_view pattern, std::string_view path);

}  // namespace tiffany::agent

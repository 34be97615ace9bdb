#include "agent/canvas_path.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/shown_text.hpp"
#include "base/utf8.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kLongestPath = 1'024;
constexpr std::size_t kLongestPart = 255;

std::vector<std::string_view> path_parts(std::string_view path) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// Characters that HFS+ leaves out when it compares names, as three bytes of UTF-8: U+200C-200F,
// U+202A-202E, U+206A-206F, U+FEFF.
bool ignored_by_hfs(std::string_view three) {
  if (three == "\xEF\xBB\xBF") return true;
  if (three.substr(0, 2) == "\xE2\x80") {
    const auto last = static_cast<unsigned char>(three[2]);
    return (last >= 0x8C && last <= 0x8F) || (last >= 0xAA && last <= 0xAE);
  }
  if (three.substr(0, 2) == "\xE2\x81") {
    const auto last = static_cast<unsigned char>(three[2]);
    return last >= 0xAA && last <= 0xAF;
  }
  return false;
}

// The part as the most forgiving file system sees it: HFS+ leaves characters out, NTFS dots and
// blanks at the end and what follows a colon, both do not tell upper case from lower case.
std::string folded_part(std::string_view part) {
  std::string folded;
  for (std::size_t at = 0; at < part.size();) {
    if (at + 3 <= part.size() && ignored_by_hfs(part.substr(at, 3))) {
      at += 3;
      continue;
    }
    const char c = part[at++];
    folded += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  folded.erase(std::min(folded.find(':'), folded.size()));
  folded.erase(folded.find_last_not_of(". ") + 1);
  return folded;
}

bool is_git_directory(std::string_view part) {
  const std::string folded = folded_part(part);
  return folded == ".git" || folded == "git~1";
}

std::string part_problem(std::string_view part) {
  if (part.empty()) return "has an empty part";
  if (part == "." || part == "..") return "has a part that is '.' or '..'";
  if (part.size() > kLongestPart) return "has a part of more than 255 bytes";
  if (is_git_directory(part)) return "has a part that is, or may be taken for, .git";
  return {};
}

bool matches_part(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

std::string canvas_path_problem(std::string_view path) {
  const auto sentence = [&](std::string_view why) {
    std::string shown = detail::shown(path.substr(0, 200));
    return "The path '" + shown + "' " + std::string(why) +
           ". Give a path below the root of the repository, as src/main.cpp.";
  };
  if (path.empty()) return sentence("is empty");
  if (path.size() > kLongestPath) return sentence("is longer than 1024 bytes");
  if (path.front() == '/') return sentence("is absolute");
  if (!detail::is_utf8(path)) return sentence("is not valid UTF-8");
  for (const char c : path) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F)
      return sentence("has a control character");
    if (c == '\\') return sentence("has a backslash");
  }
  for (const std::string_view part : path_parts(path)) {
    if (const std::string why = part_problem(part); !why.empty()) return sentence(why);
  }
  return {};
}

void check_canvas_path(std::string_view path) {
  if (const std::string problem = canvas_path_problem(path); !problem.empty()) {
    throw Error(Errc::bad_argument, problem);
  }
}

// A ".." behind a name would go up from wherever a link of that name leads.
bool link_stays_inside(std::string_view path, std::string_view target) {
  if (target.empty() || target.front() == '/' || target.find('\0') != std::string_view::npos) {
    return false;
  }
  const std::size_t above = path_parts(path).size() - 1;
  std::size_t up = 0;
  bool named = false;
  for (const std::string_view part : path_parts(target)) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      if (is_git_directory(part)) return false;
      named = true;
    } else if (named || ++up > above) {
      return false;
    }
  }
  return true;
}

bool glob_matches(std::string_view pattern, std::string_view path) {
  if (pattern.find('/') == std::string_view::npos && pattern != "**") {
    return matches_part(pattern, path.substr(path.rfind('/') + 1));
  }
  const std::vector<std::string_view> wanted = path_parts(pattern);
  const std::vector<std::string_view> parts = path_parts(path);
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t stars = wanted.size();
  std::size_t resume = 0;
  while (t < parts.size()) {
    if (p < wanted.size() && wanted[p] == "**") {
      stars = p++;
      resume = t;
    } else if (p < wanted.size() && matches_part(wanted[p], parts[t])) {
      ++p;
      ++t;
    } else if (stars < wanted.size()) {
      p = stars + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < wanted.size() && wanted[p] == "**") ++p;
  return p == wanted.size();
}

}  // namespace tiffany::agent

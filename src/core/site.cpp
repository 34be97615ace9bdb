#include "tiffany/core/site.hpp"

#include <algorithm>
#include <cstring>

namespace tiffany {
namespace {

constexpr std::string_view kAnonymous = "(anonymous namespace)";  // so Clang; GCC: {anonymous}

bool in_a_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Where the parameters begin: the first parenthesis outside of template arguments.
std::size_t parameters_of(std::string_view signature) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < signature.size(); ++i) {
    if (signature[i] == '<') ++depth;
    if (signature[i] == '>' && depth > 0) --depth;
    if (signature[i] != '(' || depth > 0) continue;
    if (!signature.substr(i).starts_with(kAnonymous)) return i;
    i += kAnonymous.size() - 1;
  }
  return signature.size();
}

std::size_t closing_parenthesis(std::string_view signature, std::size_t open) {
  std::size_t depth = 0;
  std::size_t at = open;
  for (; at < signature.size(); ++at) {
    if (signature[at] == '(') ++depth;
    if (signature[at] == ')' && --depth == 0) break;
  }
  return at;
}

}  // namespace

std::string_view file_text(const std::source_location& site) {
  const std::string_view file = site.file_name();
  const void* const slash = ::memrchr(file.data(), '/', file.size());
  if (slash == nullptr) return file;
  return file.substr(static_cast<std::size_t>(static_cast<const char*>(slash) - file.data()) + 1);
}

bool in_library(const std::source_location& site) {
  const std::string_view file = site.file_name();
  return file.find("include/tiffany/") != std::string_view::npos ||
         file.starts_with("tiffany:");  // so cmake/warnings.cmake names our sources
}

std::string site_text(const std::source_location& site) {
  std::string out(file_text(site));
  if (!in_library(site)) out += ":" + std::to_string(site.line());
  return out;
}

std::string_view function_text(const std::source_location& site) {
  return bare_name(site.function_name());
}

// GCC:   void app::fetch(fetch(int)::_ZN3app5fetchEi.Frame*)
// Clang: Task<int> app::fetch(int)
std::string_view bare_name(std::string_view signature) {
  const std::size_t open = parameters_of(signature);
  const std::size_t close = closing_parenthesis(signature, open);
  if (signature.substr(std::min(close + 1, signature.size())).starts_with("::")) return {};
  const std::string_view head = signature.substr(0, open);
  std::size_t begin = head.size();
  while (begin > 0 && in_a_name(head[begin - 1])) --begin;
  const std::string_view name = head.substr(begin);
  return name == "operator" ? std::string_view() : name;
}

}  // namespace tiffany

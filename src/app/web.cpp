#include "app/web.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/small_files.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;
using http::Response;

constexpr std::string_view kAssets = "/assets/";
constexpr std::string_view kPage = "index.html";

constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kWebTypes{{
    {".css", "text/css; charset=utf-8"},
    {".html", "text/html; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".svg", "image/svg+xml"},
}};

// Letters, digits, - _ and dots that do not come first: no path leads out of the directory.
bool good_file_name(std::string_view name) noexcept {
  if (name.empty() || name.front() == '.') return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

std::optional<std::string> web_file(const std::string& root, std::string_view name) {
  constexpr std::size_t kLongest = std::size_t{16} << 20;
  if (!root.empty()) return read_small_file(root + "/" + std::string(name), kLongest);
  const auto all = embedded_dashboard();
  const auto found = std::ranges::find(all, name, &WebFile::name);
  if (found == all.end()) return std::nullopt;
  return std::string(found->text);
}

}  // namespace

std::optional<Response> web_answer(const http::Request& request, const std::string& root) {
  const std::string_view path = request.path();
  const bool page = path == "/";
  if (!page && !path.starts_with(kAssets)) return std::nullopt;
  if (request.method != "GET" && request.method != "HEAD") {
    throw HttpError(405, std::string(path) + " takes GET.");
  }
  const std::string_view name = page ? kPage : path.substr(kAssets.size());
  const auto* const type =
      std::ranges::find_if(kWebTypes, [&](const auto& each) { return name.ends_with(each.first); });
  std::optional<std::string> text;
  if (good_file_name(name) && type != kWebTypes.end()) text = web_file(root, name);
  if (!text && page && !root.empty()) {
    throw HttpError(404, "The setting web_root is " + root +
                             ", which has no index.html: build the dashboard there.");
  }
  if (!text) throw HttpError(404, "The dashboard has no file " + std::string(path) + ".");
  Response response(200, std::string(type->second), std::move(*text));
  // A name has a hash of the content in it, so what it names never changes; the page names them.
  response.headers.set("cache-control", page ? "no-cache" : "public, max-age=31536000, immutable");
  response.headers.set("content-security-policy",
                       "default-src 'self'; base-uri 'none'; form-action 'none'; "
                       "frame-ancestors 'none'; object-src 'none'");
  response.headers.set("x-content-type-options", "nosniff");
  response.headers.set("referrer-policy", "no-referrer");
  return response;
}

}  // namespace tiffany::app

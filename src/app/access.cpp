#include "app/access.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "app/small_files.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/hex.hpp"
#include "tiffany/base/sha256.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/io_error.hpp"

namespace tiffany::app {
namespace {

using http::HttpError;

constexpr std::size_t kLongestTokenName = 100;

bool good_token_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kLongestTokenName && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '@';
  });
}

std::string random_token() {
  std::array<unsigned char, 32> bytes{};
  if (!World::current().entropy(bytes.data(), bytes.size())) {
    throw Error(Errc::io_failed, "A token needs random bytes, and this world has none.");
  }
  std::string text = "tif_";
  for (const unsigned char byte : bytes) append_hex(text, byte, 2);
  return text;
}

// No shorter for texts that begin alike.
bool same_text(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  unsigned char differ = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    differ = static_cast<unsigned char>(differ | (a[i] ^ b[i]));
  }
  return differ == 0;
}

// "localhost:7070" and "[::1]:7070" without the port.
std::string_view without_port(std::string_view host) noexcept {
  if (host.starts_with('[')) {
    const std::size_t end = host.find(']');
    return end == std::string_view::npos ? host : host.substr(0, end + 1);
  }
  return host.substr(0, host.find(':'));
}

// A WebSocket of a browser can send no header but its protocols: "pal, bearer.<token>".
std::string token_in(const http::Request& request) {
  if (const auto given = request.headers.find("authorization")) {
    constexpr std::string_view kScheme = "Bearer ";
    if (!given->starts_with(kScheme)) {
      throw HttpError(401, "Say `authorization: Bearer` and a token.");
    }
    return std::string(given->substr(kScheme.size()));
  }
  constexpr std::string_view kPrefix = "bearer.";
  const std::string_view offered = request.headers.find("sec-websocket-protocol").value_or("");
  const std::size_t at = offered.find(kPrefix);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = offered.substr(at + kPrefix.size());
  return std::string(rest.substr(0, rest.find_first_of(", ")));
}

}  // namespace

std::string_view name_of(Role role) noexcept {
  constexpr std::array<std::string_view, 4> kNames{"nobody", "viewer", "operator", "admin"};
  return kNames[static_cast<std::size_t>(role)];
}
std::optional<Role> role_of(std::string_view name) noexcept {
  for (const Role role : {Role::viewer, Role::operates, Role::admin}) {
    if (name == name_of(role)) return role;
  }
  return std::nullopt;
}

Tokens::Tokens(std::string path) : path_(std::move(path)) { reload(); }

void Tokens::reload() {
  const std::optional<std::string> text = read_small_file(path_);
  if (!text) {
    tokens_.clear();
    return;
  }
  try {
    tokens_ = from_json<std::vector<TokenInfo>>(*text);
  } catch (const Error& error) {
    throw Error(Errc::bad_json, "The tokens in " + path_ + " cannot be read: " + error.what());
  }
}

std::string Tokens::create(const std::string& name, Role role, std::int64_t now) {
  if (!good_token_name(name)) {
    throw Error(Errc::bad_argument,
                "The name of a token has 1 to 100 letters, digits, and any of - _ . @");
  }
  if (std::ranges::any_of(tokens_, [&](const TokenInfo& each) { return each.name == name; })) {
    throw Error(Errc::bad_argument,
                "There is a token \"" + name + "\" already: remove it, or take another name.");
  }
  if (tokens_.size() >= kMost) {
    throw Error(Errc::bad_argument, "There are 1000 tokens, and there can be no more.");
  }
  std::string token = random_token();
  tokens_.push_back({name, std::string(name_of(role)), sha256_hex(token), now});
  try {
    save();
  } catch (...) {
    tokens_.pop_back();
    throw;
  }
  return token;
}

bool Tokens::remove(std::string_view name) {
  const auto found =
      std::ranges::find_if(tokens_, [&](const TokenInfo& each) { return each.name == name; });
  if (found == tokens_.end()) return false;
  const std::vector<TokenInfo> before = tokens_;
  tokens_.erase(found);
  try {
    save();
  } catch (...) {
    tokens_ = before;
    throw;
  }
  return true;
}

std::optional<Principal> Tokens::find(std::string_view token) const {
  const std::string hash = sha256_hex(token);
  const TokenInfo* found = nullptr;
  for (const TokenInfo& each : tokens_) {
    if (same_text(each.hash, hash)) found = &each;
  }
  if (found == nullptr) return std::nullopt;
  return Principal{"token:" + found->name, role_of(found->role).value_or(Role::nobody)};
}

void Tokens::save() const { write_private_file(path_, to_json(tokens_)); }

// A page of another site that has its name resolved to our address would send its own name here.
void Access::check_host(const http::Request& request, bool local) const {
  const std::optional<std::string_view> host = request.headers.find("host");
  if (!local && host && !hosts_.contains(without_port(*host))) {
    throw HttpError(403, "This daemon is not called \"" + std::string(*host) +
                             "\". If it should be, name it in the setting hosts.");
  }
  const std::optional<std::string_view> origin = request.headers.find("origin");
  if (!origin) return;
  std::string_view from = *origin;
  if (const std::size_t scheme = from.find("://"); scheme != std::string_view::npos) {
    from.remove_prefix(scheme + 3);
  }
  if (!host || from != *host) {
    throw HttpError(403, "A page of " + std::string(*origin) + " may not ask here.");
  }
}

Principal Access::who(const http::Exchange& exchange) const {
  const http::Peer& peer = exchange.peer();
  const http::Request& request = exchange.request();
  check_host(request, peer.local);
  if (peer.local) {
    const std::uint32_t own = World::current().user_id();
    if (!peer.user || (*peer.user != own && *peer.user != 0)) {
      throw HttpError(403, "This socket is for the user that the daemon runs as.");
    }
    return {"uid:" + std::to_string(*peer.user), Role::admin};
  }
  const std::string token = token_in(request);
  if (token.empty()) return {};
  const std::optional<Principal> found = tokens_.find(token);
  if (!found) throw HttpError(401, "That token is unknown. `tiffany token create` makes one.");
  return *found;
}

}  // namespace tiffany::app

// Who asks, and what they may do. Internal; docs/decisions/0026-daemon.md says why.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/codec.hpp"
#include "tiffany/serve/http_server.hpp"

namespace tiffany::app {

enum class Role : std::uint8_t { nobody, viewer, operates, admin };
std::string_view name_of(Role role) noexcept;  // nobody, viewer, operator, admin
std::optional<Role> role_of(std::string_view name) noexcept;

struct Principal {
  std::string name;  // "uid:1000", "token:ci"
  Role role = Role::nobody;
};

struct TokenInfo {
  std::string name;
  std::string role;
  std::string hash;          // SHA-256 of the token, in hex
  std::int64_t created = 0;  // microseconds since 1970
};
TIFFANY_JSON(TokenInfo, name, role, hash, created);

// The tokens of a daemon: <data>/tokens.json, of which only hashes are kept.
class Tokens {
 public:
  static constexpr std::size_t kMost = 1000;

  // Reads the file; none is no token. Throws Errc::bad_json when it cannot be understood.
  explicit Tokens(std::string path);
  // Reads the file anew.
  void reload();
  // Gives the token, which nobody can see again. Errc::bad_argument for a name that is taken.
  std::string create(const std::string& name, Role role, std::int64_t now);
  // False: there is none of that name.
  bool remove(std::string_view name);
  const std::vector<TokenInfo>& all() const noexcept { return tokens_; }
  // Compared in a time that does not depend on the text.
  std::optional<Principal> find(std::string_view token) const;

 private:
  void save() const;
  std::string path_;
  std::vector<TokenInfo> tokens_;
};

// The rules for a request, before it is looked at any further.
class Access {
 public:
  explicit Access(const Tokens& tokens) noexcept : tokens_(tokens) {}
  // Names and addresses, without a port, that a client may call this daemon by.
  void allow_host(std::string name) { hosts_.insert(std::move(name)); }
  // Who it is; Role::nobody for one who did not say. Throws an HttpError: 403 for a peer, a host or
  // an origin that is not ours, 401 for a token that is unknown.
  Principal who(const http::Exchange& exchange) const;

 private:
  void check_host(const http::Request& request, bool local) const;
  const Tokens& tokens_;
  std::set<std::string, std::less<>> hosts_;
};

}  // namespace tiffany::app

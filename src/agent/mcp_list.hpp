// What a server of tools offers, as it is kept: names, descriptions and schemas, with digests.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "agent/mcp_wire.hpp"
#include "tiffany/agent/mcp_tools.hpp"

namespace tiffany::agent::mcp {

inline constexpr std::size_t kMostTools = 1024;   // that are kept
inline constexpr std::size_t kMostOffered = 128;  // to a model
inline constexpr std::size_t kMostPages = 64;
inline constexpr std::size_t kLongestName = 128;
inline constexpr std::size_t kLongestAbout = 4096;
inline constexpr std::size_t kLongestSchema = std::size_t{32} << 10;

// A tool as its server has it.
struct Definition {
  std::string name{};
  std::string about{};   // as it was sent
  std::string schema{};  // JSON
  std::string digest{};  // of these three
};

class ToolList {
 public:
  // Takes the tools of one page. What is beyond the bounds is left out, with a sentence.
  void add(std::string_view tools_json, const McpOptions& options);

  const Definition* find(std::string_view name) const;
  // Those that the operator allows, by name.
  std::vector<const Definition*> allowed(const McpOptions& options) const;
  const std::vector<std::string>& left_out() const noexcept { return left_out_; }
  std::string digest(const McpOptions& options) const;  // of what is allowed

  // As JSON, with what says which server it is of.
  std::string text(const McpOptions& options) const;
  // False: it is of another server, or is no such text.
  bool read(std::string_view text, const McpOptions& options);

 private:
  void leave_out(const McpOptions& options, const std::string& name, const std::string& why);
  void take(const Members& tool, const McpOptions& options);

  std::map<std::string, Definition, std::less<>> all_;
  std::vector<std::string> left_out_;
};

// What says which server it is: the words of its command, or its URL.
std::string place_of(const McpOptions& options);
// Digest of a tool of that server: what is approved with a call.
std::string pin_of(const McpOptions& options, const Definition& tool);
// What the model is told of it. `names`: those that are given away already.
ToolOffer offer_of(const McpOptions& options, const Definition& tool,
                   std::map<std::string, std::string>& names);
ToolTraits traits_of(const McpOptions& options, const Definition& tool);
// Both definitions, for a person who is asked; `now` null: it is offered no more.
std::string difference(const Definition& then, const Definition* now);

}  // namespace tiffany::agent::mcp

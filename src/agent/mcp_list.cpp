#include "agent/mcp_list.hpp"

#include "agent/mcp_headers.hpp"

#include <algorithm>
#include <utility>

#include "tiffany/base/canonical_json.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent::mcp {
namespace {

constexpr std::size_t kLongestOffer = 64;  // of a name, as protocols of models have it
constexpr std::size_t kMostLeftOut = 50;

bool is_word(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

bool is_tool_name(std::string_view name) noexcept {
  return !name.empty() && name.size() <= kLongestName &&
         std::ranges::all_of(name, [](char c) { return is_word(c) || c == '.' || c == '/'; });
}

bool is_allowed(const McpOptions& options, const std::string& tool) {
  const auto& allow = options.allow;
  return allow.empty() || std::ranges::find(allow, tool) != allow.end();
}

// One form for equal schemas, so that another order of members is no other tool.
std::string one_form(const std::string& json) {
  try {
    return canonical_json(json);
  } catch (const Error&) {  // a number that no double keeps
    return compact_json(json);
  }
}

std::string digest_of(const Definition& tool) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.member("description", tool.about);
  out.key("inputSchema");
  out.raw_value(tool.schema);
  out.member("name", tool.name);
  out.end_object();
  return sha256_hex(text);
}

// "files__read_file". What models do not take in names becomes '_'.
std::string offered_name(const std::string& server, const std::string& tool) {
  std::string name = server + "__";
  for (const char c : tool) name += is_word(c) ? c : '_';
  return name;
}
std::string with_digest(const std::string& name, const std::string& tool) {
  constexpr std::size_t kDigits = 8;
  return name.substr(0, kLongestOffer - kDigits - 1) + "_" + sha256_hex(tool).substr(0, kDigits);
}

}  // namespace

void ToolList::leave_out(const McpOptions& options, const std::string& name,
                         const std::string& why) {
  if (!is_allowed(options, name)) return;
  if (left_out_.size() == kMostLeftOut) return;
  left_out_.push_back("The tool \"" + in_a_sentence(name, 80) + "\" is left out: " + why);
}

void ToolList::add(std::string_view tools_json, const McpOptions& options) {
  JsonReader in(tools_json);
  if (in.kind() != JsonKind::array) throw Error(Errc::bad_reply, "\"tools\" is no list.");
  in.begin_array();
  while (in.next_element()) take(Members::parse(in.raw()), options);
}

void ToolList::take(const Members& tool, const McpOptions& options) {
  Definition taken;
  taken.name = tool.text("name");
  if (!is_tool_name(taken.name)) {
    return leave_out(options, taken.name,
                     "a name has letters, digits, '_', '-', '.' and '/', at most 128.");
  }
  if (all_.contains(taken.name)) {
    throw Error(Errc::bad_reply, "It offers two tools with the name \"" + taken.name + "\".");
  }
  if (all_.size() == kMostTools) {
    return leave_out(options, taken.name, "1024 are the most.");
  }
  taken.about = tool.text("description");
  if (taken.about.empty()) taken.about = tool.text("title");
  if (taken.about.size() > kLongestAbout) {
    return leave_out(options, taken.name, "its description is longer than 4 KiB.");
  }
  if (tool.kind("inputSchema") != JsonKind::object) {
    return leave_out(options, taken.name, "its inputSchema is no object.");
  }
  try {
    taken.schema = one_form(tool.raw("inputSchema"));
  } catch (const Error& error) {
    return leave_out(options, taken.name, std::string("its inputSchema: ") + error.what());
  }
  if (taken.schema.size() > kLongestSchema) {
    return leave_out(options, taken.name, "its inputSchema is longer than 32 KiB.");
  }
  if (!options.url.empty()) {
    const std::string problem = header_problem(taken.schema);
    if (!problem.empty()) return leave_out(options, taken.name, problem);
  }
  taken.digest = digest_of(taken);
  std::string name = taken.name;
  all_.emplace(std::move(name), std::move(taken));
}

const Definition* ToolList::find(std::string_view name) const {
  const auto found = all_.find(name);
  return found == all_.end() ? nullptr : &found->second;
}

std::vector<const Definition*> ToolList::allowed(const McpOptions& options) const {
  std::vector<const Definition*> found;
  for (const auto& each : all_) {
    if (is_allowed(options, each.first)) found.push_back(&each.second);
  }
  return found;
}

std::string ToolList::digest(const McpOptions& options) const {
  std::string text;
  for (const Definition* const each : allowed(options)) text += each->digest + "\n";
  return sha256_hex(text);
}

std::string ToolList::text(const McpOptions& options) const {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.key("server");
  out.raw_value(place_of(options));
  out.member("digest", digest(options));
  out.key("tools");
  out.begin_array();
  for (const auto& each : all_) {
    out.line_break();
    out.begin_object();
    out.member("name", each.second.name);
    out.member("description", each.second.about);
    out.key("inputSchema");
    out.raw_value(each.second.schema);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  return text + "\n";
}

bool ToolList::read(std::string_view text, const McpOptions& options) {
  ToolList found;
  try {
    const Members kept = Members::parse(text);
    if (one_form(kept.raw("server")) != one_form(place_of(options))) return false;
    found.add(kept.raw("tools"), options);
  } catch (const Error&) {
    return false;
  }
  *this = std::move(found);
  return true;
}

std::string place_of(const McpOptions& options) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  if (!options.url.empty()) {
    out.member("url", options.url);
  } else {
    out.key("command");
    out.begin_array();
    for (const std::string& word : options.command) out.value(word);
    out.end_array();
  }
  out.end_object();
  return text;
}

std::string pin_of(const McpOptions& options, const Definition& tool) {
  return sha256_hex(place_of(options) + "\n" + tool.digest);
}

ToolOffer offer_of(const McpOptions& options, const Definition& tool,
                   std::map<std::string, std::string>& names) {
  ToolOffer offer;
  offer.name = offered_name(options.name, tool.name);
  if (offer.name.size() > kLongestOffer || names.contains(offer.name)) {
    offer.name = with_digest(offer.name, tool.name);
  }
  names.emplace(offer.name, tool.name);
  offer.about = "(Of the server " + options.name + ", in its words:) " + plain_text(tool.about);
  offer.schema = plain_text(tool.schema);
  return offer;
}

ToolTraits traits_of(const McpOptions& options, const Definition& tool) {
  ToolTraits traits;
  traits.effect = StepEffect::at_most_once;
  traits.ask = true;
  traits.reads_private = true;
  traits.untrusted = true;
  traits.writes_outside = true;
  traits.pin = pin_of(options, tool);
  const auto found = options.traits.find(tool.name);
  if (found == options.traits.end()) return traits;
  const McpTraits& said = found->second;
  traits.effect = said.effect.value_or(traits.effect);
  traits.ask = said.ask.value_or(traits.ask);
  traits.reads_private = said.reads_private.value_or(traits.reads_private);
  traits.untrusted = said.untrusted.value_or(traits.untrusted);
  traits.writes_outside = said.writes_outside.value_or(traits.writes_outside);
  return traits;
}

std::string difference(const Definition& then, const Definition* now) {
  if (now == nullptr) return "The server offers no tool \"" + then.name + "\" any more.\n";
  std::string text;
  const auto part = [&text](const char* what, const std::string& a, const std::string& b) {
    if (a == b) return;
    text += std::string(what) + " was:\n" + plain_text(a) + "\n" + what + " is:\n" + plain_text(b) +
            "\n";
  };
  part("The description", then.about, now->about);
  part("The schema", then.schema, now->schema);
  return text;
}

}  // namespace tiffany::agent::mcp

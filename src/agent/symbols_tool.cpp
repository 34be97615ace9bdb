#include "tiffany/agent/symbols_tool.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "agent/command_call.hpp"
#include "agent/file_calls.hpp"
#include "base/utf8.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json_reader.hpp"
#include "tiffany/io/offload.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kMostTagFiles = 400;
constexpr std::size_t kMostTagPaths = std::size_t{128} << 10;  // bytes of their names
constexpr std::size_t kMostTagRead = std::size_t{64} << 20;    // bytes that are looked through
constexpr std::size_t kMostTags = 200;                         // that are told
constexpr std::size_t kMostTagAnswer = std::size_t{48} << 10;
constexpr std::size_t kLongestTag = 300;

constexpr const char* kSymbolsAbout =
    "Finds where something is defined: classes, functions, members, macros and the like. With a "
    "name, as total or Cart::total, the definitions of that name, in all files or below a path; "
    "with a path alone everything that is defined in that file.";
constexpr const char* kSymbolsSchema =
    R"({"type":"object","properties":{"name":{"type":["string","null"],"maxLength":256,)"
    R"("description":"exactly as it is written"},)"
    R"("path":{"type":["string","null"],"description":"a file, or a directory"}},)"
    R"("additionalProperties":false})";

struct SymbolsArguments {
  std::optional<std::string> name{};
  std::optional<std::string> path{};
};
TIFFANY_JSON(SymbolsArguments, name, path);

// "total" of "shop::Cart::total", "Cart.total" or "Cart#total".
std::string last_part(const std::string& name) {
  const std::size_t at = name.find_last_of(":.#/");
  return at == std::string::npos ? name : name.substr(at + 1);
}
// Without what stands between the parts, which differs from language to language.
std::string joined_parts(std::string_view name) {
  std::string out = ".";
  for (const char c : name) {
    const bool between = c == ':' || c == '.' || c == '#' || c == '/';
    if (!between) {
      out += c;
    } else if (out.back() != '.') {
      out += '.';
    }
  }
  return out;
}

struct TaggedFiles {
  std::vector<std::string> paths{};
  bool cut = false;
};

// Files that can have a definition of it.
TaggedFiles files_to_tag(std::string repository, CanvasState state, SymbolsArguments ask) {
  const Canvas canvas = Canvas::reopen(repository, state);
  const std::string path = canvas_directory(ask.path.value_or(""));
  const std::string word = last_part(ask.name.value_or(""));
  TaggedFiles files;
  std::size_t names = 0;
  std::size_t read = 0;
  const auto take = [&](const std::string& file) {
    if (!word.empty()) {
      try {
        const CanvasFile held = canvas.read(file);
        read += held.bytes.size();
        if (held.binary || held.bytes.find(word) == std::string::npos) return true;
      } catch (const Error& error) {
        if (error.code() != Errc::bad_argument) throw;
        return true;  // too large
      }
    }
    files.cut = files.paths.size() == kMostTagFiles || names + file.size() > kMostTagPaths ||
                read > kMostTagRead;
    if (files.cut) return false;
    names += file.size();
    files.paths.push_back(file);
    return true;
  };
  if (!path.empty() && canvas.has(path)) {
    take(path);
  } else {
    static_cast<void>(canvas.list(path, "", 1));  // says that there is no such directory
    canvas.visit(path, take);
  }
  return files;
}

struct Tag {
  std::string name{};
  std::string path{};
  std::string kind{};
  std::string scope{};
  std::string signature{};
  std::int64_t line = 0;
};

// A line of ctags; nothing when it is none of a definition.
std::optional<Tag> tag_in(std::string_view line) {
  Tag tag;
  try {
    JsonReader in(line);
    in.begin_object();
    for (std::string name; in.next_member(name);) {
      std::string* const text = name == "name"        ? &tag.name
                                : name == "path"      ? &tag.path
                                : name == "kind"      ? &tag.kind
                                : name == "scope"     ? &tag.scope
                                : name == "signature" ? &tag.signature
                                                      : nullptr;
      if (text != nullptr && in.kind() == JsonKind::string) {
        *text = in.string();
      } else if (name == "line" && in.kind() == JsonKind::number) {
        tag.line = in.integer();
      } else {
        in.raw();
      }
    }
    in.end();
  } catch (const Error&) {  // cut through the middle, or no JSON
    return std::nullopt;
  }
  if (tag.name.empty() || tag.path.empty()) return std::nullopt;
  if (tag.path.starts_with("./")) tag.path.erase(0, 2);
  return tag;
}

bool is_wanted(const Tag& tag, const std::string& name) {
  if (name.empty()) return true;
  if (tag.name == name) return true;
  const std::string wanted = joined_parts(name);
  return tag.name == last_part(name) && joined_parts(tag.scope + "." + tag.name).ends_with(wanted);
}

std::string shown_tag(const Tag& tag) {
  std::string text = tag.path + ":" + std::to_string(tag.line) + ": " + tag.kind + " ";
  if (!tag.scope.empty()) text += tag.scope + "::";
  text += tag.name + tag.signature;
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  if (text.size() > kLongestTag) {
    text.resize(tiffany::detail::utf8_prefix(text, kLongestTag).size());
    text += "...";
  }
  return text + "\n";
}

// What ctags printed, for the model.
std::string told_tags(const std::string& printed, const std::string& name) {
  std::vector<Tag> tags;
  bool cut = false;
  for (std::size_t at = 0; at < printed.size() && !cut;) {
    const std::size_t end = std::min(printed.find('\n', at), printed.size());
    std::optional<Tag> tag = tag_in(std::string_view(printed).substr(at, end - at));
    at = end + 1;
    if (!tag || !is_wanted(*tag, name)) continue;
    cut = tags.size() == kMostTags;
    if (!cut) tags.push_back(std::move(*tag));
  }
  std::sort(tags.begin(), tags.end(), [](const Tag& a, const Tag& b) {
    return std::tie(a.path, a.line, a.scope, a.name) < std::tie(b.path, b.line, b.scope, b.name);
  });
  std::string out;
  for (const Tag& each : tags) {
    cut = cut || out.size() > kMostTagAnswer;
    if (out.size() <= kMostTagAnswer) out += shown_tag(each);
  }
  if (out.empty()) out = "No definition was found. `search` finds where a text is used.\n";
  if (cut) out += "(there are more: give a path)\n";
  return out;
}

Manifest symbols_manifest() {
  Manifest manifest;
  manifest.name = "symbols";
  manifest.about = kSymbolsAbout;
  // "NONE" is first: neither the repository nor the user has a say in what ctags does.
  manifest.argv = {"ctags",           "--options=NONE", "--quiet=yes", "--output-format=json",
                   "--fields=NFKsnS", "--sort=no",      "-f",          "-"};
  manifest.input = kSymbolsSchema;
  manifest.effect = ToolEffect::pure;
  manifest.limits.timeout_ms = 60'000;
  manifest.limits.output_bytes = std::uint64_t{8} << 20;
  manifest.ask = false;
  manifest.sandbox = 2;
  return manifest;
}

class SymbolsTool final : public ProgramTool {
 public:
  explicit SymbolsTool(Workshop& workshop) : ProgramTool(symbols_manifest(), workshop) {}
  std::string mistake_in(std::string_view arguments) const override {
    if (std::string mistake = mistakes_in_call(offer(), arguments); !mistake.empty()) {
      return mistake;
    }
    const auto ask = from_json<SymbolsArguments>(arguments);
    const bool named = ask.name && !last_part(*ask.name).empty();
    if (named || (ask.path && !canvas_directory(*ask.path).empty() && !ask.name)) return "";
    return "The arguments of symbols do not fit: give a name, or the path of a file.";
  }
  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    ToolAnswer answer;
    answer.canvas = where.canvas;
    answer.failed = true;
    if (where.repository.empty()) {
      answer.text = "There is no repository, and so there are no files.";
      co_return answer;
    }
    const auto ask = from_json<SymbolsArguments>(arguments);
    TaggedFiles files;
    try {
      const CanvasState canvas = where.canvas;
      files = co_await offload(files_to_tag, where.repository, canvas, ask);
    } catch (const Error& error) {
      if (error.code() != Errc::bad_argument) throw;
      answer.text = error.what();
    }
    if (!answer.text.empty()) co_return answer;
    std::string text = told_tags("", "");
    if (!files.paths.empty()) {
      std::vector<std::string> words = manifest().argv;
      // With "./" before it no name is an option.
      for (const std::string& each : files.paths) words.push_back("./" + each);
      const CommandCalled called = co_await call(std::move(where), std::move(words));
      answer.level = called.end.sandbox_level;
      answer.exit = called.end.code;
      if (!called.end.ok()) {
        answer.text = problem_of(called);
        co_return answer;
      }
      text = told_tags(called.out, ask.name.value_or(""));
      if (called.end.output_dropped > 0) text += "(ctags said too much: give a path)\n";
    }
    if (files.cut) text += "(not all files were looked at: give a path)\n";
    answer.text = std::move(text);
    answer.failed = false;
    co_return answer;
  }

 private:
  static std::string problem_of(const CommandCalled& called) {
    if (called.no_sandbox) return called.end.why;
    if (called.end.end == exec::CommandEnd::not_started) {
      return "universal-ctags is not installed on this machine: use `search` instead.";
    }
    return "ctags failed; this tool needs universal-ctags with JSON. " + text_of_command(called);
  }
};

}  // namespace

void add_symbols_tool(ToolSet& tools, Workshop& workshop) {
  tools.add(std::make_shared<SymbolsTool>(workshop));
}

}  // namespace tiffany::agent

// What a program has to say of itself to be a tool: a manifest, as JSON or from C++.
//
//   {"name": "test", "about": "Runs the tests whose names match.",
//    "argv": ["ctest", "--output-on-failure", "-R", "{pattern}"],
//    "input": {"type": "object", "properties": {"pattern": {"type": "string"}},
//              "required": ["pattern"], "additionalProperties": false},
//    "effect": "idempotent", "writes": ["."], "limits": {"timeout_ms": 600000}}
//
//   const agent::Manifest manifest = agent::read_manifest(text);
//   agent::words_for(manifest, R"({"pattern":"Cart"})")   // ctest --output-on-failure -R Cart
//
// "{pattern}" stands for an argument, as a whole word or as a part of one. What the argument has
// inside never makes two words of one, and no shell reads it. A word whose argument is not there is
// left out. "{{" and "}}" are braces. A value that begins with "-" is refused at the beginning of a
// word, where it would be an option, unless the word "--" comes before.
//
// The digest of a manifest (its pin) is part of what is approved: a tool that has become another
// one needs another approval.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/agent/model.hpp"
#include "tiffany/agent/tool.hpp"
#include "tiffany/exec/command_spec.hpp"

namespace tiffany::agent {

// What happens when a tool is run again because nobody knows how far it came.
enum class ToolEffect : std::uint8_t {
  pure,           // changes nothing
  idempotent,     // twice is as once
  at_most_once,   // a person is asked instead
  transactional,  // finds by its key whether it was done
};
std::string_view name_of(ToolEffect effect) noexcept;

class ToolLimits {
 public:
  ToolLimits() = default;
  std::int64_t timeout_ms = 120'000;
  std::uint64_t output_bytes = std::uint64_t{64} << 10;  // of output and of errors each
  exec::CommandLimits kernel{};
};

class Manifest {
 public:
  Manifest() = default;
  std::string name{};               // letters, digits, '_' and '-', at most 64
  std::string about{};              // for the model
  std::vector<std::string> argv{};  // the first is the program, and has no placeholder
  std::string input = R"({"type":"object","additionalProperties":false})";  // JSON Schema
  std::string output{};  // of standard output; empty: any text
  ToolEffect effect = ToolEffect::at_most_once;
  // Paths besides the files of the canvas, which every tool may read. "." in `writes` is the
  // directory with these files, whose changes are taken back into the canvas.
  std::vector<std::string> reads{};
  std::vector<std::string> writes{};
  bool network = false;
  ToolLimits limits{};
  std::vector<std::string> secrets{};  // names of variables, never values
  bool ask = true;                     // each run needs an approval
  int sandbox = 2;                     // the least level that it is run at
};

// An Error bad_tool with a sentence for each mistake. Members are those of the class, the limits of
// the kernel among `limits`; needed are name, about, argv, input and effect. Without `ask` a tool
// asks unless it is pure and without network. Members that are not known are mistakes.
Manifest read_manifest(std::string_view json);
// The same checks for a manifest that was made in C++.
void check_manifest(const Manifest& manifest);

// As canonical JSON (RFC 8785) with all members; read_manifest() reads it.
std::string canonical_text(const Manifest& manifest);
// SHA-256 of that.
std::string digest(const Manifest& manifest);

// The words of the command, and nothing but the arguments in place of their placeholders. An Error
// bad_tool with sentences for the model when the arguments do not fit to the schema.
std::vector<std::string> words_for(const Manifest& manifest, std::string_view arguments);
// The same with limits and sandbox, in a directory with the files of the canvas. Secrets are for
// the caller, who knows where they are.
exec::CommandSpec command_for(const Manifest& manifest, std::string_view arguments,
                              std::string directory);

// The same for words that somebody else has made.
exec::CommandSpec command_of(const Manifest& manifest, std::vector<std::string> words,
                             std::string directory);

ToolOffer offer_of(const Manifest& manifest);
ToolTraits traits_of(const Manifest& manifest);

}  // namespace tiffany::agent

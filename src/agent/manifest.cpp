#include "tiffany/agent/manifest.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "agent/manifest_words.hpp"
#include "base/shown_text.hpp"
#include "base/utf8.hpp"
#include "tiffany/agent/schema.hpp"
#include "tiffany/base/canonical_json.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent {
namespace {

// What a manifest looks like; what JSON Schema cannot say is in check_manifest().
constexpr std::string_view kManifestSchema =
    R"({"type":"object","properties":{)"
    R"("name":{"type":"string","minLength":1,"maxLength":64},)"
    R"("about":{"type":"string","minLength":1,"maxLength":4000},)"
    R"("argv":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":256},)"
    R"("input":{"type":"object"},"output":{"type":["object","null"]},)"
    R"("effect":{"enum":["pure","idempotent","at_most_once","transactional"]},)"
    R"("reads":{"type":"array","items":{"type":"string"},"maxItems":256},)"
    R"("writes":{"type":"array","items":{"type":"string"},"maxItems":256},)"
    R"("network":{"type":"boolean"},"ask":{"type":"boolean"},)"
    R"("secrets":{"type":"array","items":{"type":"string"},"maxItems":64},)"
    R"("sandbox":{"type":"integer","minimum":0,"maximum":3},"limits":{"type":"object",)"
    R"("properties":{"timeout_ms":{"type":"integer","minimum":1,"maximum":604800000},)"
    R"("output_bytes":{"type":"integer","minimum":1024,"maximum":67108864},)"
    R"("cpu_seconds":{"type":["integer","null"],"minimum":1,"maximum":1000000},)"
    R"("memory_bytes":{"type":["integer","null"],"minimum":1,"maximum":9007199254740992},)"
    R"("file_bytes":{"type":["integer","null"],"minimum":0,"maximum":9007199254740992},)"
    R"("open_files":{"type":["integer","null"],"minimum":4,"maximum":1000000},)"
    R"("processes":{"type":["integer","null"],"minimum":1,"maximum":1000000}},)"
    R"("additionalProperties":false}},)"
    R"("required":["name","about","argv","input","effect"],"additionalProperties":false})";

[[noreturn]] void refuse_manifest(const std::string& name, const std::vector<std::string>& why) {
  std::string all = "The manifest";
  if (!name.empty()) all += " of '" + detail::shown(name.substr(0, 64)) + "'";
  all += " has mistakes:";
  for (const std::string& each : why) all += "\n  " + each;
  throw Error(Errc::bad_tool, all);
}

bool is_tool_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_tool_digit(char c) { return c >= '0' && c <= '9'; }

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return is_tool_letter(c) || is_tool_digit(c) || c == '_' || c == '-';
  });
}
bool is_variable_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && !is_tool_digit(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_tool_letter(c) || is_tool_digit(c) || c == '_'; });
}

// Which files a tool reaches must be seen from the path, so that nothing goes up from anywhere.
bool is_plain_path(std::string_view path) {
  if (path.empty() || path.size() > 4'096 || !detail::is_utf8(path)) return false;
  if (path.find('\0') != std::string_view::npos) return false;
  return ("/" + std::string(path) + "/").find("/../") == std::string::npos;
}

void write_texts(JsonWriter& out, std::string_view name, const std::vector<std::string>& texts) {
  out.key(name);
  out.begin_array();
  for (const std::string& each : texts) out.value(each);
  out.end_array();
}

void write_limits(JsonWriter& out, const ToolLimits& limits) {
  const auto optional = [&](std::string_view name, const std::optional<std::uint64_t>& value) {
    if (value) out.member(name, *value);
  };
  out.key("limits");
  out.begin_object();
  out.member("timeout_ms", limits.timeout_ms);
  out.member("output_bytes", limits.output_bytes);
  optional("cpu_seconds", limits.kernel.cpu_seconds);
  optional("memory_bytes", limits.kernel.memory_bytes);
  optional("file_bytes", limits.kernel.file_bytes);
  optional("open_files", limits.kernel.open_files);
  optional("processes", limits.kernel.processes);
  out.end_object();
}

std::string manifest_json(const Manifest& manifest) {
  std::string text;
  JsonWriter out(text);
  out.begin_object();
  out.member("name", manifest.name);
  out.member("about", manifest.about);
  write_texts(out, "argv", manifest.argv);
  out.key("input");
  out.raw_value(manifest.input);
  if (!manifest.output.empty()) {
    out.key("output");
    out.raw_value(manifest.output);
  }
  out.member("effect", name_of(manifest.effect));
  write_texts(out, "reads", manifest.reads);
  write_texts(out, "writes", manifest.writes);
  out.member("network", manifest.network);
  write_limits(out, manifest.limits);
  write_texts(out, "secrets", manifest.secrets);
  out.member("ask", manifest.ask);
  out.member("sandbox", manifest.sandbox);
  out.end_object();
  return text;
}

// A whole number is what the schema let through, as 1e3 may be.
std::uint64_t whole_limit(JsonReader& in) { return static_cast<std::uint64_t>(in.number()); }

void read_limits(JsonReader& in, ToolLimits& limits) {
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    std::optional<std::uint64_t> value;
    if (in.kind() == JsonKind::null) {
      in.null();
    } else {
      value = whole_limit(in);
    }
    if (name == "timeout_ms") limits.timeout_ms = static_cast<std::int64_t>(*value);
    if (name == "output_bytes") limits.output_bytes = *value;
    if (name == "cpu_seconds") limits.kernel.cpu_seconds = value;
    if (name == "memory_bytes") limits.kernel.memory_bytes = value;
    if (name == "file_bytes") limits.kernel.file_bytes = value;
    if (name == "open_files") limits.kernel.open_files = value;
    if (name == "processes") limits.kernel.processes = value;
  }
}

// Of a text that fits to the schema.
Manifest decode_manifest(std::string_view json) {
  Manifest manifest;
  std::optional<bool> ask;
  JsonReader in(json);
  const auto texts = [&](std::vector<std::string>& to) {
    in.begin_array();
    while (in.next_element()) to.push_back(in.string());
  };
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (name == "name") {
      manifest.name = in.string();
    } else if (name == "about") {
      manifest.about = in.string();
    } else if (name == "argv") {
      texts(manifest.argv);
    } else if (name == "input") {
      manifest.input = in.raw();
    } else if (name == "output") {
      manifest.output = in.raw();
      if (manifest.output == "null") manifest.output.clear();
    } else if (name == "effect") {
      const std::string effect = in.string();
      for (int i = 0; i <= static_cast<int>(ToolEffect::transactional); ++i) {
        if (effect == name_of(static_cast<ToolEffect>(i))) manifest.effect = ToolEffect(i);
      }
    } else if (name == "reads") {
      texts(manifest.reads);
    } else if (name == "writes") {
      texts(manifest.writes);
    } else if (name == "network") {
      manifest.network = in.boolean();
    } else if (name == "limits") {
      read_limits(in, manifest.limits);
    } else if (name == "secrets") {
      texts(manifest.secrets);
    } else if (name == "ask") {
      ask = in.boolean();
    } else {
      manifest.sandbox = static_cast<int>(whole_limit(in));
    }
  }
  manifest.ask = ask.value_or(manifest.effect != ToolEffect::pure || manifest.network);
  return manifest;
}

void note_schema(std::string_view text, std::string_view name, std::vector<std::string>& why,
                 std::optional<Schema>* out) {
  try {
    Schema schema = Schema::read(text);
    canonical_json(text);
    if (out != nullptr) *out = std::move(schema);
  } catch (const Error& error) {
    why.push_back("/" + std::string(name) + ": " + error.what());
  }
}

}  // namespace

std::string_view name_of(ToolEffect effect) noexcept {
  constexpr std::string_view kNames[] = {"pure", "idempotent", "at_most_once", "transactional"};
  return kNames[static_cast<std::size_t>(effect)];
}

Manifest read_manifest(std::string_view json) {
  if (const std::vector<std::string> why = check_against(kManifestSchema, json); !why.empty()) {
    refuse_manifest("", why);
  }
  Manifest manifest = decode_manifest(json);
  check_manifest(manifest);
  return manifest;
}

void check_manifest(const Manifest& manifest) {
  std::vector<std::string> why;
  std::optional<Schema> input;
  note_schema(manifest.input, "input", why, &input);
  if (!manifest.output.empty()) note_schema(manifest.output, "output", why, nullptr);
  if (why.empty()) why = check_against(kManifestSchema, manifest_json(manifest));
  if (!is_tool_name(manifest.name)) {
    why.push_back("/name: a name has letters, digits, '_' and '-', at most 64.");
  }
  if (!detail::is_utf8(manifest.about)) why.push_back("/about: the text is not valid UTF-8.");
  if (input && !input->only_objects()) {
    why.push_back("/input: the type of arguments is \"object\".");
  }
  if (input) note_words(manifest.argv, *input, why);
  for (const std::vector<std::string>* paths : {&manifest.reads, &manifest.writes}) {
    for (const std::string& path : *paths) {
      if (is_plain_path(path)) continue;
      why.push_back((paths == &manifest.reads ? "/reads: '" : "/writes: '") +
                    detail::shown(path.substr(0, 200)) + "' is no path, or has a part '..'.");
    }
  }
  for (const std::string& secret : manifest.secrets) {
    if (!is_variable_name(secret)) {
      why.push_back("/secrets: '" + detail::shown(secret.substr(0, 64)) +
                    "' is no name of a variable.");
    }
  }
  if (manifest.effect == ToolEffect::pure && (!manifest.writes.empty() || manifest.network)) {
    why.push_back("/effect: a tool that writes, or has the network, is not pure.");
  }
  if (!why.empty()) refuse_manifest(manifest.name, why);
}

std::string canonical_text(const Manifest& manifest) {
  check_manifest(manifest);
  return canonical_json(manifest_json(manifest));
}

std::string digest(const Manifest& manifest) { return sha256_hex(canonical_text(manifest)); }

exec::CommandSpec command_for(const Manifest& manifest, std::string_view arguments,
                              std::string directory) {
  return command_of(manifest, words_for(manifest, arguments), std::move(directory));
}

exec::CommandSpec command_of(const Manifest& manifest, std::vector<std::string> words,
                             std::string directory) {
  exec::CommandSpec command(std::move(words));
  command.directory = std::move(directory);
  command.limits = manifest.limits.kernel;
  command.timeout_ms = manifest.limits.timeout_ms;
  command.output_bytes = manifest.limits.output_bytes;
  if (manifest.sandbox > 0) {
    exec::Sandbox sandbox(manifest.sandbox);
    sandbox.read = manifest.reads;
    sandbox.network = manifest.network;
    sandbox.directory_writable = false;
    for (const std::string& path : manifest.writes) {
      if (path == ".") {
        sandbox.directory_writable = true;
      } else {
        sandbox.write.push_back(path);
      }
    }
    command.sandbox = std::move(sandbox);
  }
  return command;
}

ToolOffer offer_of(const Manifest& manifest) {
  ToolOffer offer;
  offer.name = manifest.name;
  offer.about = manifest.about;
  offer.schema = canonical_json(manifest.input);
  return offer;
}

ToolTraits traits_of(const Manifest& manifest) {
  ToolTraits traits;
  switch (manifest.effect) {
    case ToolEffect::pure:
    case ToolEffect::idempotent:
      traits.effect = StepEffect::idempotent;
      break;
    case ToolEffect::at_most_once:
      traits.effect = StepEffect::at_most_once;
      break;
    case ToolEffect::transactional:
      traits.effect = StepEffect::transactional;
      break;
  }
  traits.ask = manifest.ask;
  traits.reads_private = !manifest.reads.empty() || !manifest.secrets.empty();
  traits.untrusted = true;
  const bool own_files =
      manifest.writes.empty() || manifest.writes == std::vector<std::string>{"."};
  traits.writes_outside = manifest.network || !own_files;
  traits.level = manifest.sandbox;
  traits.pin = digest(manifest);
  return traits;
}

}  // namespace tiffany::agent

// How a call was judged and what it came to, as the log has it.
#include <algorithm>
#include <array>
#include <string_view>

#include "agent/agent_run.hpp"

namespace tiffany {
namespace {

using agent::CallCheck;
using agent::ToolRecord;
using agent::ToolTraits;

struct TraitWord {
  std::string_view word;
  bool ToolTraits::* trait;
};
constexpr std::array kTraitWords{
    TraitWord{"ask", &ToolTraits::ask},
    TraitWord{"private", &ToolTraits::reads_private},
    TraitWord{"untrusted", &ToolTraits::untrusted},
    TraitWord{"outside", &ToolTraits::writes_outside},
    TraitWord{"concurrent", &ToolTraits::concurrent},
};
// The members that each record has.
struct UsualRecord {
  std::string tool{};
  std::string output{};
  std::optional<std::string> error{};
  std::string call{};
  int exit = 0;
  int level = 0;
  agent::CanvasState canvas{};
  std::string kept{};
  std::string handle{};
};
TIFFANY_JSON(UsualRecord, tool, output, error, call, exit, level, canvas, kept, handle);
TIFFANY_JSON_ADDED(UsualRecord, kept, handle);

constexpr std::string_view kRuled = "ruled";
constexpr std::string_view kEffects[] = {"idempotent", "at_most_once", "transactional"};

void set_word(CallCheck& check, std::string_view word, JsonReader& in, std::size_t at) {
  if (word == kRuled) {
    check.ruled = true;
    return;
  }
  for (const TraitWord& each : kTraitWords) {
    if (word != each.word) continue;
    check.traits.*each.trait = true;
    return;
  }
  in.fail("words for the traits of a tool", at);
}

StepEffect effect_in(JsonReader& in) {
  in.kind();
  const std::size_t at = in.offset();
  const std::string name = in.string();
  for (std::size_t i = 0; i < std::size(kEffects); ++i) {
    if (name == kEffects[i]) return static_cast<StepEffect>(i);
  }
  in.fail("an effect (idempotent, at_most_once, transactional)", at);
}

}  // namespace

void Codec<CallCheck>::write(JsonWriter& out, const CallCheck& check) {
  std::string words;
  const auto add = [&](bool is, std::string_view word) {
    if (is) words += (words.empty() ? "" : " ") + std::string(word);
  };
  for (const TraitWord& each : kTraitWords) add(check.traits.*each.trait, each.word);
  add(check.ruled, kRuled);
  out.begin_object();
  out.member("is", words);
  if (check.traits.effect != StepEffect::idempotent) {
    out.member("effect", kEffects[static_cast<std::size_t>(check.traits.effect)]);
  }
  if (check.traits.level != 0) out.member("level", check.traits.level);
  if (!check.traits.pin.empty()) out.member("pin", check.traits.pin);
  if (!check.mistake.empty()) out.member("mistake", check.mistake);
  out.end_object();
}

CallCheck Codec<CallCheck>::read(JsonReader& in) {
  CallCheck check;
  check.traits.untrusted = false;
  in.begin_object();
  for (std::string name; in.next_member(name);) {
    if (name == "is") {
      in.kind();
      const std::size_t at = in.offset();
      const std::string words = in.string();
      std::string_view rest = words;
      while (!rest.empty()) {
        const std::string_view word = rest.substr(0, rest.find(' '));
        rest.remove_prefix(std::min(rest.size(), word.size() + 1));
        set_word(check, word, in, at);
      }
    } else if (name == "effect") {
      check.traits.effect = effect_in(in);
    } else if (name == "level") {
      check.traits.level = read_json<int>(in);
    } else if (name == "pin") {
      check.traits.pin = in.string();
    } else if (name == "mistake") {
      check.mistake = in.string();
    } else {
      in.raw();
    }
  }
  return check;
}

void Codec<ToolRecord>::write(JsonWriter& out, const ToolRecord& record) {
  out.begin_object();
  out.member("tool", record.tool);
  out.member("output", record.output);
  out.key("error");
  write_json(out, record.error);
  out.member("call", record.call);
  out.member("exit", record.exit);
  out.member("level", record.level);
  out.key("canvas");
  write_json(out, record.canvas);
  if (!record.kept.empty()) out.member("kept", record.kept);
  if (!record.handle.empty()) out.member("handle", record.handle);
  out.end_object();
}

ToolRecord Codec<ToolRecord>::read(JsonReader& in) {
  UsualRecord usual = read_json<UsualRecord>(in);
  ToolRecord record;
  record.tool = std::move(usual.tool);
  record.output = std::move(usual.output);
  record.error = std::move(usual.error);
  record.call = std::move(usual.call);
  record.exit = usual.exit;
  record.level = usual.level;
  record.canvas = std::move(usual.canvas);
  record.kept = std::move(usual.kept);
  record.handle = std::move(usual.handle);
  return record;
}

}  // namespace tiffany

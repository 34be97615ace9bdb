#include "tiffany/agent/policy.hpp"

#include "tiffany/base/canonical_json.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent {

std::string Policy::digest() const { return sha256_hex(canonical_json(to_json(*this))); }

Decision decide(const Policy& policy, const std::string& tool, const ToolTraits& traits,
                const Exposure& met, bool granted) {
  Exposure then = met;
  note(then, traits);
  const bool all_three = then.saw_private && then.saw_untrusted && then.wrote_outside;
  const bool had_all = met.saw_private && met.saw_untrusted && met.wrote_outside;
  const bool gives_away = all_three && (!had_all || traits.writes_outside);
  for (const PolicyRule& rule : policy.rules) {
    if (rule.tool != tool && rule.tool != "*") continue;
    if (rule.ruling == Ruling::refuse) {
      return {Ruling::refuse, "The policy does not allow the tool \"" + tool + "\"."};
    }
    if (rule.ruling == Ruling::ask && !granted) {
      return {Ruling::ask, "The policy asks before the tool \"" + tool + "\" is run."};
    }
    if (!gives_away) return {Ruling::allow, ""};
    break;
  }
  if (gives_away) {
    return {Ruling::ask,
            "The task has read what is private and text that others wrote, and with this call it "
            "could tell the one to the other."};
  }
  if (traits.ask && !granted) return {Ruling::ask, "The tool \"" + tool + "\" is one that asks."};
  return {Ruling::allow, ""};
}

void note(Exposure& met, const ToolTraits& traits) noexcept {
  met.saw_private = met.saw_private || traits.reads_private;
  met.saw_untrusted = met.saw_untrusted || traits.untrusted;
  met.wrote_outside = met.wrote_outside || traits.writes_outside;
}

std::string_view name_of(Ruling ruling) noexcept {
  constexpr std::string_view kNames[] = {"allow", "ask", "refuse"};
  return kNames[static_cast<std::size_t>(ruling)];
}

}  // namespace tiffany::agent

namespace tiffany {

void Codec<agent::Ruling>::write(JsonWriter& out, agent::Ruling ruling) {
  out.value(name_of(ruling));
}
agent::Ruling Codec<agent::Ruling>::read(JsonReader& in) {
  in.kind();
  const std::size_t at = in.offset();
  const std::string name = in.string();
  for (const agent::Ruling each :
       {agent::Ruling::allow, agent::Ruling::ask, agent::Ruling::refuse}) {
    if (name == agent::name_of(each)) return each;
  }
  in.fail("a ruling (allow, ask, refuse)", at);
}

}  // namespace tiffany

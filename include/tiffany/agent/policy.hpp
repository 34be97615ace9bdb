// Whether a call of a tool is run, asked for, or refused. The policy is the operator's: the model
// cannot change it, and what it is like is recorded when a task begins.
//
// Of three things a task does at most two by itself: read what is private, take in text that others
// wrote, and write to the outside. The call that would make it three asks (prompt injection needs
// all three to give something away).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/agent/tool.hpp"
#include "tiffany/base/codec.hpp"

namespace tiffany::agent {

enum class Ruling : std::uint8_t { allow, ask, refuse };
std::string_view name_of(Ruling ruling) noexcept;

}  // namespace tiffany::agent

// By its name, for those who write policies.
template <>
struct tiffany::Codec<tiffany::agent::Ruling> {
  static void write(JsonWriter& out, agent::Ruling ruling);
  static agent::Ruling read(JsonReader& in);
};

namespace tiffany::agent {

// By the name of a tool; "*" is every tool. The first that fits counts; without one the traits of
// the tool decide.
struct PolicyRule {
  std::string tool{};
  Ruling ruling = Ruling::ask;
  bool operator==(const PolicyRule&) const = default;
};
TIFFANY_JSON(PolicyRule, tool, ruling);

class Policy {
 public:
  Policy() = default;
  std::vector<PolicyRule> rules{};
  // Whether a patch is committed to the branch of the task (refs/heads/tiffany/<task>) without an
  // approval. Another branch is never moved without one.
  bool own_branch_is_free = false;
  std::string digest() const;
};
TIFFANY_JSON(Policy, rules, own_branch_is_free);

// What a task has met so far.
struct Exposure {
  bool saw_private = false;
  bool saw_untrusted = false;
  bool wrote_outside = false;
  bool operator==(const Exposure&) const = default;
};
TIFFANY_JSON(Exposure, saw_private, saw_untrusted, wrote_outside);

struct Decision {
  Ruling ruling = Ruling::allow;
  std::string why{};  // a sentence for people, and for the model when it is refused
};
// `granted`: somebody approved this tool for the whole task before. That does not cover the third
// of the three.
Decision decide(const Policy& policy, const std::string& tool, const ToolTraits& traits,
                const Exposure& met, bool granted);
// After a call of the tool.
void note(Exposure& met, const ToolTraits& traits) noexcept;

}  // namespace tiffany::agent

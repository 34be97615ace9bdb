#include "tiffany/agent/approval.hpp"

#include <algorithm>
#include <cstddef>

#include "base/utf8.hpp"
#include "tiffany/base/canonical_json.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent {
namespace {

[[noreturn]] void refuse_answer(const std::string& sentence) {
  throw Error(Errc::approval_refused, sentence);
}

// Digests of others are shown short: enough to tell two apart.
std::string short_digest(std::string_view digest) {
  constexpr std::size_t kShown = 12;
  std::string shown;
  for (const char c : digest.substr(0, kShown)) {
    shown += (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ? c : '?';
  }
  return shown.empty() ? "(none)" : shown;
}

}  // namespace

std::string_view name_of(Verdict verdict) noexcept {
  return verdict == Verdict::approve ? "approve" : "reject";
}
std::string_view name_of(AnswerScope scope) noexcept {
  constexpr std::string_view kNames[] = {"once", "task", "rule"};
  return kNames[static_cast<std::size_t>(scope)];
}

std::string canonical_text(const Action& action) {
  // A writer of JSON mends what is broken, and two broken texts would have one digest.
  for (const std::string* text :
       {&action.task, &action.tool, &action.pin, &action.base, &action.tree}) {
    if (!detail::is_utf8(*text)) {
      throw Error(Errc::bad_tool, "A member of the action " + action.tool +
                                      " is not valid UTF-8, so that no digest of it can be made.");
    }
  }
  std::string arguments;
  try {
    arguments = canonical_json(action.arguments, JsonReader::kMaxDepth - 1);
  } catch (const Error& error) {
    throw Error(Errc::bad_tool, "The arguments of the tool " + action.tool +
                                    " cannot be approved: " + error.what());
  }
  std::string text;
  JsonWriter out(text);
  out.begin_object();  // sorted by name
  out.key("arguments");
  out.raw_value(arguments);
  out.member("base", action.base);
  out.member("level", action.level);
  out.member("pin", action.pin);
  out.member("task", action.task);
  out.member("tool", action.tool);
  out.member("tree", action.tree);
  out.end_object();
  return canonical_json(text);
}

std::string digest(const Action& action) { return sha256_hex(canonical_text(action)); }

std::string differences(const Action& a, const Action& b) {
  std::string names;
  const auto note = [&names](bool equal, std::string_view name) {
    if (equal) return;
    if (!names.empty()) names += ", ";
    names += name;
  };
  note(a.task == b.task, "task");
  note(a.tool == b.tool, "tool");
  note(a.pin == b.pin, "pin");
  note(a.arguments == b.arguments || canonical_json(a.arguments) == canonical_json(b.arguments),
       "arguments");
  note(a.level == b.level, "level");
  note(a.base == b.base, "base");
  note(a.tree == b.tree, "tree");
  return names;
}

void check_answer(const Action& action, const Answer& answer, WallTime now, WallTime expiry,
                  const std::vector<Action>& earlier) {
  const std::string wanted = digest(action);
  if (answer.digest != wanted) {
    const auto shown = std::find_if(earlier.begin(), earlier.end(), [&](const Action& each) {
      return digest(each) == answer.digest;
    });
    const std::string which = "The answer is for " + short_digest(answer.digest) +
                              ", and what waits is " + short_digest(wanted) + ": ";
    if (shown == earlier.end()) {
      refuse_answer(which +
                    "nobody was asked that here. Look at what waits, and answer with its digest.");
    }
    refuse_answer(which + differences(*shown, action) +
                  " is different by now. Look at what waits, and answer with its digest.");
  }
  if (now >= expiry) {
    refuse_answer("The answer for " + short_digest(wanted) + " came at " +
                  utc_text(now.time_since_epoch().count()) + ", and the question ended at " +
                  utc_text(expiry.time_since_epoch().count()) + ". Ask again.");
  }
  if (answer.who.empty()) {
    refuse_answer("The answer for " + short_digest(wanted) +
                  " names nobody. An answer counts only with who gave it.");
  }
}

}  // namespace tiffany::agent

namespace tiffany {

void Codec<agent::Verdict>::write(JsonWriter& out, agent::Verdict verdict) {
  out.value(name_of(verdict));
}
agent::Verdict Codec<agent::Verdict>::read(JsonReader& in) {
  in.kind();
  const std::size_t at = in.offset();
  const std::string name = in.string();
  if (name == "approve") return agent::Verdict::approve;
  if (name == "reject") return agent::Verdict::reject;
  in.fail("a verdict (approve, reject)", at);
}

void Codec<agent::AnswerScope>::write(JsonWriter& out, agent::AnswerScope scope) {
  out.value(name_of(scope));
}
agent::AnswerScope Codec<agent::AnswerScope>::read(JsonReader& in) {
  in.kind();
  const std::size_t at = in.offset();
  const std::string name = in.string();
  for (const agent::AnswerScope scope :
       {agent::AnswerScope::once, agent::AnswerScope::task, agent::AnswerScope::rule}) {
    if (name == agent::name_of(scope)) return scope;
  }
  in.fail("a scope (once, task, rule)", at);
}

}  // namespace tiffany

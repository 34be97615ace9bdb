// What is approved, and the answer of a person (docs/decisions/0030-agent.md).
//
//   agent::Action action = ...;                   // a tool with its arguments, or a patch
//   std::string waits_for = digest(action);       // shown together with canonical_text(action)
//   ...
//   agent::check_answer(action, answer, now, expiry);   // throws, or the answer counts
//
// An answer is bound to the SHA-256 of the canonical JSON of the action, and to nothing else: not
// to a number in a list, nor to prose. A base that moved, an argument that changed, a merge:
// another digest, hence another question. The door checks an answer before the durable promise is
// touched, so that a wrong answer does not use the promise up; the task checks the answer again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/base/calendar.hpp"
#include "tiffany/base/codec.hpp"

namespace tiffany::agent {

// Members that an action does not have stay empty: a tool without a canvas has no base and no tree.
class Action {
 public:
  Action() = default;
  std::string task{};            // the id of the durable task
  std::string tool{};            // its name; of a patch "commit"
  std::string pin{};             // digest of the manifest of the tool
  std::string arguments = "{}";  // JSON
  int level = 0;                 // of the sandbox
  std::string base{};            // commit
  std::string tree{};            // of the canvas
  bool operator==(const Action&) const = default;
};
TIFFANY_JSON(Action, task, tool, pin, arguments, level, base, tree);

// The text that is shown and whose SHA-256 the digest is: one JSON object (RFC 8785) with the seven
// members, `arguments` as JSON and not as text. An Error bad_tool when the arguments are no JSON,
// or JSON that two programs may read differently, or when a text is not valid UTF-8.
std::string canonical_text(const Action& action);
// 64 hexadecimal digits, in lower case.
std::string digest(const Action& action);
// The names of the members in which two actions differ: "base, tree"; empty: they are equal.
std::string differences(const Action& a, const Action& b);

enum class Verdict : std::uint8_t { approve, reject };
std::string_view name_of(Verdict verdict) noexcept;

// How far an answer goes. What `task` and `rule` cover beyond the action itself is said by the
// policy that keeps them; the digest is checked in all three.
enum class AnswerScope : std::uint8_t { once, task, rule };
std::string_view name_of(AnswerScope scope) noexcept;

class Answer {
 public:
  Answer() = default;
  std::string digest{};
  Verdict verdict = Verdict::reject;
  std::string who{};  // whom the door knows this to be: never what the answer says of itself
  std::string comment{};
  AnswerScope scope = AnswerScope::once;
  bool operator==(const Answer&) const = default;
};
TIFFANY_JSON(Answer, digest, verdict, who, comment, scope);
TIFFANY_JSON_ADDED(Answer, who, comment, scope);

// Whether an answer counts for an action that waits until `expiry`; a rejection has to fit as well
// as an approval. An Error approval_refused with a sentence for people when it does not: the digest
// is of something else, the time is over, nobody is named. `earlier` are actions that somebody was
// shown before or elsewhere: when the answer is for one of them, the sentence says in what that one
// is different (a stale base, a changed argument, another task).
void check_answer(const Action& action, const Answer& answer, WallTime now, WallTime expiry,
                  const std::vector<Action>& earlier = {});

}  // namespace tiffany::agent

// By their names, for those who read the log and the API.
template <>
struct tiffany::Codec<tiffany::agent::Verdict> {
  static void write(JsonWriter& out, agent::Verdict verdict);
  static agent::Verdict read(JsonReader& in);
};
template <>
struct tiffany::Codec<tiffany::agent::AnswerScope> {
  static void write(JsonWriter& out, agent::AnswerScope scope);
  static agent::AnswerScope read(JsonReader& in);
};

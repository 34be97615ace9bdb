// What a scripted model says: a JSON file that PlanFile (agent/plan_file.hpp) answers from without
// a network, and ScriptedModel (agent/scripted_model.hpp) over HTTP.
//
//   {"replies": [
//     {"reply": {"text": "I look.", "calls": [{"name": "read", "arguments": {"path": "a.c"}}]}},
//     {"fault": 429, "times": 2, "reply": {"text": "Done."}},
//     {"when": {"contains": "error:"}, "reply": {"text": "I try again."}}
//   ], "otherwise": {"reply": {"text": "I have nothing to add."}}}
//
// A list of replies alone will do. The first entry whose `when` holds answers. When none holds,
// the entries without a `when` answer in their order, each once; then `otherwise`, if it is there.
// Nothing is remembered between two questions: how far a conversation has come is read from its
// messages, so the same question has the same reply, also after a crash.
//
//   when       all of: contains (a text in what was said since the reply before), turn (1: no
//              reply before this one), model (Request::model)
//   reply      text; calls: name, arguments (an object, or a text as it is), id; stop (end, tools,
//              length, refused); usage: input, cached, output, or null: not told
//   fault      400 to 599, "stall", "cut", "bad_utf8", "truncated_arguments", "slow". With a reply:
//              of the first `times` (default 1) attempts, and the reply comes behind them; without
//              a reply: of each attempt. "slow" has a reply, which comes in pieces with pauses
//   retry_after  seconds, of 429 and 503; default 1; null: not told
//   pause_ms   of "stall" (default 60,000) and "slow" (default 50)
//
// Questions for embeddings (POST .../embeddings) need no script: a text has the vector that its
// words make. "embeddings" beside "replies" is a list of faults that they meet: `when` with
// `contains` (in one of the texts) and `model`, `fault`, `times` (without it: each attempt),
// `retry_after`, `pause_ms`. The first that fits counts. Their faults are those of replies but
// "truncated_arguments", and "one_less", "dimension", "zeros" and "not_a_number" besides.
//
// An id that is not given is call_<turn>_<number>. Usage that is not given is one token for four
// bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/agent/model.hpp"
#include "tiffany/base/time.hpp"

namespace tiffany::agent {

enum class Fault : std::uint8_t {
  none,
  status,
  stall,
  cut,
  bad_utf8,
  truncated_arguments,
  slow,
  // Of embeddings alone.
  one_less,   // vectors than texts
  dimension,  // the last vector has another one
  zeros,      // are what the last vector has
  not_a_number,
};

class ScriptEntry {
 public:
  ScriptEntry() = default;

  bool conditional = false;  // has a `when`
  std::optional<std::string> contains{};
  std::optional<std::string> model{};
  std::int64_t turn = 0;  // 0: any

  bool replies = false;  // has a reply
  std::string text{};
  std::vector<ToolCall> calls{};  // an empty id: made of the turn
  Stop stop = Stop::end;
  std::optional<Usage> usage{};  // none: counted

  Fault fault = Fault::none;
  int status = 0;
  int times = 1;
  std::optional<Duration> retry_after{};
  Duration pause{};

  // Whether an attempt of that number (from 1) meets the fault.
  bool fails(int attempt) const noexcept {
    return fault != Fault::none && fault != Fault::slow && (!replies || attempt <= times);
  }
};

class Script {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{16} << 20;
  static constexpr std::size_t kMostReplies = 10'000;

  // `name` is what sentences call the script. Throws Error (bad_json, bad_argument) with the first
  // mistake and its place.
  static Script parse(std::string_view text, std::string name = "the script");

  // Which entry answers. Throws NotRetryable when none does.
  const ScriptEntry& pick(const Request& request) const;
  // The fault that a question for embeddings meets; null: none.
  const ScriptEntry* embeddings_fault(const std::vector<std::string>& texts,
                                      std::string_view model) const;
  // What it says, as if no fault came between.
  static Reply reply(const ScriptEntry& entry, const Request& request);

  const std::string& name() const noexcept { return name_; }
  std::size_t size() const noexcept { return entries_.size(); }

 private:
  friend class ScriptReader;
  const ScriptEntry* conditional(const Request& request, std::size_t begin, std::size_t end,
                                 std::int64_t turn) const;

  std::string name_;
  std::vector<ScriptEntry> entries_;
  std::optional<ScriptEntry> otherwise_;
  std::vector<ScriptEntry> embeddings_;
};

// The number of the reply that the request asks for, from 1: one more than it has replies.
std::int64_t turn_of(const Request& request) noexcept;
// Whether any message of the request is tainted: then what a model says to it is, too.
bool is_tainted(const Request& request) noexcept;
// Parts of a text, as a stream of an endpoint has them: words, never within a character.
std::vector<std::string_view> pieces_of(std::string_view text);

}  // namespace tiffany::agent

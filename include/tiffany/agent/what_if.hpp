// "What if": the log of an agent under another model or prompt. The model is asked what was asked
// then; tools are not run, their answers come from the log, while the model decides as it is
// recorded. The first decision that differs is the answer.
//
//   const agent::RecordedRun run = agent::recorded_run(lines, value_of);
//   const agent::WhatIf found = co_await agent::what_if(run, model, "");
//   if (found.difference) print(found.difference->recorded, found.difference->other);
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tiffany/agent/message.hpp"
#include "tiffany/agent/model.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany::agent {

// What came next in a run: a reply of the model, or what the model was told then.
struct RunEvent {
  bool decided = false;  // by the model
  Message message{};
};
TIFFANY_JSON(RunEvent, decided, message);

struct RecordedRun {
  std::string instruction{};
  std::string prompt{};
  std::vector<ToolOffer> tools{};
  std::vector<RunEvent> events{};
};
TIFFANY_JSON(RecordedRun, instruction, prompt, tools, events);

// Of the lines of the records of a task, in their order. `value_of` gives the value that a member
// of a record means. An Error bad_argument when the task is no agent.
RecordedRun recorded_run(const std::vector<std::string>& lines,
                         const std::function<std::string(std::string_view)>& value_of);

struct WhatIf {
  struct Difference {
    int turn = 0;  // from 1
    Message recorded{};
    Message other{};
    std::string problem{};  // a sentence, when the model gave no reply
  };
  int turns = 0;  // that were compared
  std::optional<Difference> difference{};
};

// `prompt` empty: the one that is recorded; `name`: of the model that is asked. Two decisions are
// the same when they call the same tools with equal arguments, in the same order; one that calls no
// tool ends the work or does not, and its words do not count.
//
// Cancel: the question that is asked is given up.
Task<WhatIf> what_if(RecordedRun run, Model& model, std::string prompt, std::string name = {});

}  // namespace tiffany::agent

// A log of a task, taken in again: which calls its code made, and what came to it, in their order.
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "durable/flow_state.hpp"
#include "durable/host_core.hpp"
#include "durable/records.hpp"
#include "durable/updates.hpp"
#include "tiffany/base/codec.hpp"
#include "tiffany/wal/record.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany {
namespace {

using detail::Arrival;
using detail::Command;
using detail::Fields;
using wal::RecordType;

// What a log says, before it is compared with anything. A retry takes parts of it back, and a
// checkpoint all of it.
class History {
 public:
  std::vector<Command> commands;
  std::vector<Arrival> arrivals;

  Command& command(std::string kind, std::string id) {
    const auto known = by_id_.find(id);
    if (known != by_id_.end()) return commands[known->second];
    by_id_.emplace(id, commands.size());
    commands.emplace_back();
    commands.back().kind = std::move(kind);
    commands.back().id = std::move(id);
    return commands.back();
  }
  // An answer to an update, each of which is one: the id of an update may come again when its
  // answer is forgotten.
  Command& answer(std::string id) {
    commands.emplace_back();
    commands.back().kind = "answer";
    commands.back().id = std::move(id);
    return commands.back();
  }
  // Everything from a call on is as if it had not been.
  void forget_from(const std::string& id) {
    const auto known = by_id_.find(id);
    if (known == by_id_.end()) return;
    const std::uint64_t seq = commands[known->second].seq;
    std::erase_if(commands, [seq](const Command& each) { return each.seq >= seq; });
    by_id_.clear();
    for (std::size_t i = 0; i < commands.size(); ++i) by_id_.emplace(commands[i].id, i);
    // What had come to calls from before stays; so do signals.
    std::erase_if(arrivals, [this, seq](const Arrival& each) {
      if (each.kind == Arrival::Kind::cancel) return each.seq > seq;
      return each.kind == Arrival::Kind::slot && !by_id_.contains(each.id);
    });
  }
  // Whoever stopped the task said so.
  void nothing_was_lost() noexcept {
    for (Command& each : commands) each.lost = false;
  }
  void clear() {
    commands.clear();
    arrivals.clear();
    by_id_.clear();
  }

 private:
  std::unordered_map<std::string, std::size_t> by_id_;
};

}  // namespace

void FlowState::load(const std::vector<std::string>& lines) {
  History history;
  std::string attributes_before_code;  // those of the start, or of the last checkpoint
  steps.loaded();
  for (const std::string& line : lines) {
    wal::RecordView view;
    const std::string_view text = std::string_view(line).substr(0, line.size() - 1);
    if (wal::read_line(text, 0, view) != wal::LineFault::none) {
      throw Error(Errc::log_damaged, "A line of the log of task " + id_text +
                                         " was right when the log was opened and is not now.");
    }
    bytes += line.size();
    const Fields fields(view.payload, text);
    const std::int64_t time = wal::parse_time(view.ts).value_or(0);
    // The first record of a command gives it its place; later ones, as a second StepStart, its
    // state.
    const auto place = [&](Command& recorded) -> Command& {
      if (recorded.seq == 0) {
        recorded.seq = view.seq;
        recorded.time = time;
      }
      recorded.hash = fields.text("hash");
      if (recorded.place.empty()) recorded.place = fields.place();
      return recorded;
    };
    const auto remember = [&](const char* kind, std::string id) -> Command& {
      return place(history.command(kind, std::move(id)));
    };
    const auto came = [&](Arrival arrival) {
      arrival.time = time;
      arrival.seq = view.seq;
      history.arrivals.push_back(std::move(arrival));
    };
    const auto value = [&](std::string_view recorded) {
      return records::value_in(view, *host.store, recorded);
    };
    const auto settled = [&] {
      records::Result result = records::Result::read(fields);
      Arrival arrival;
      arrival.id = std::move(result.of);
      arrival.failed = result.failed;
      arrival.unknown = result.unknown;
      if (result.failed) arrival.failure = std::make_shared<detail::Failure>(result.failure);
      arrival.value = result.failed ? std::move(result.value) : value(result.value);
      came(std::move(arrival));
    };
    switch (view.type) {
      case RecordType::Spawn: {
        const records::Spawn begun = records::Spawn::read(fields);
        code.arguments = value(begun.args);
        written_by.version = begun.version;
        written_by.rules = begun.rules;
        code.now = time;
        attributes_before_code = begun.marks.attributes;
        if (!begun.fork_of.empty()) {
          const Uuid origin = Uuid::parse(begun.fork_of).value_or(Uuid());
          generation.take_seed(origin.hash());
          code.seldom().past = begun.past.empty()
                                   ? std::vector<detail::PastTask>{{origin, log.forked_at}}
                                   : from_json<std::vector<detail::PastTask>>(begun.past);
        }
        break;
      }
      case RecordType::StepStart: {
        records::StepStart start = records::StepStart::read(fields);
        Command& recorded = remember("step", std::move(start.step));
        recorded.begun = true;
        recorded.due = start.due;
        recorded.lost = start.due == 0;
        recorded.attempts = start.attempt;
        if (!start.details.empty()) recorded.details = from_json<std::string>(value(start.details));
        break;
      }
      case RecordType::StepEnd:
      case RecordType::InstructionStart:
      case RecordType::LLMPlan:
      case RecordType::ToolResult:
      case RecordType::PatchPreview:
      case RecordType::Commit:
      case RecordType::TaskComplete:
        remember("step", records::command_id(view, fields));
        settled();
        break;
      case RecordType::Command: {
        records::Asked asked = records::Asked::read(fields);
        if (asked.op == "retry") {
          history.forget_from(asked.from);
          // The replay sets again what the code had set before that call.
          HostedTask* const entry = host.tasks.find(log.id);
          if (entry != nullptr) host.search.set(*entry, Search::read(attributes_before_code));
          generation.begin_retry(view.seq);
        } else if (asked.op == "pause") {
          history.nothing_was_lost();
        } else if (asked.op == "answer") {
          Command& recorded = place(history.answer(std::move(asked.id)));
          records::Result result = records::Result::read(fields);
          if (!result.failed) break;
          recorded.details = std::move(result.value);
          recorded.failure = std::make_shared<detail::Failure>(std::move(result.failure));
        } else if (asked.by_code()) {
          Command& recorded = remember(asked.op.c_str(), std::move(asked.id));
          recorded.shape = std::move(asked.shape);
          recorded.due = asked.due;
          recorded.value = asked.value;
          recorded.uuid = asked.uuid;
        }
        break;
      }
      case RecordType::Resumed:
      case RecordType::Approval:
        if (std::optional<records::Sent> sent = records::Sent::read(fields)) {
          Arrival arrival;
          if (sent->what != records::Sent::What::cancel) {
            arrival.value = value(sent->value);
          }
          if (sent->what == records::Sent::What::update) {
            arrival.kind = Arrival::Kind::update;
            arrival.id = std::move(sent->update);
            arrival.update = updates().loaded(arrival.id, std::move(sent->name), arrival.value);
          } else {
            const bool signal = sent->what == records::Sent::What::signal;
            arrival.kind = signal ? Arrival::Kind::signal : Arrival::Kind::cancel;
            arrival.id = std::move(sent->name);
          }
          came(std::move(arrival));
        } else {
          settled();
        }
        break;
      case RecordType::Checkpoint: {
        records::Checkpoint checkpoint = records::Checkpoint::read(fields);
        history.clear();
        code.seldom().saved = value(checkpoint.state);
        signals.read(view, checkpoint.mailbox);
        cancel.why = std::move(checkpoint.cancelled);
        if (updates_ != nullptr) updates_->clear();
        if (!checkpoint.updates.empty()) {
          updates().read_waiting(value(checkpoint.updates));
        }
        if (!checkpoint.answers.empty()) {
          updates().read_answers(value(checkpoint.answers));
        }
        if (HostedTask* const entry = host.tasks.find(log.id)) {
          host.search.set(*entry, Search::read(checkpoint.attributes));
        }
        attributes_before_code = std::move(checkpoint.attributes);
        code.now = time;
        generation.begin(written_by.records_waits() ? checkpoint.number : view.seq,
                         written_by.records_waits());
        break;
      }
      default:
        break;
    }
  }
  // Crash case: a StepStart without an end counts as a crash only if the process did not say that
  // it was ending.
  if (host.store->found().shut_down) history.nothing_was_lost();
  // Code of another version may make the commands in another order.
  comparison.load(std::move(history.commands), written_by.version != type.version);
  arrivals.load(std::move(history.arrivals));
}

}  // namespace tiffany

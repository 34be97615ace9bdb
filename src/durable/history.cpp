// A log of a task, taken in again: which calls its code made, and what came to it, in their order.
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "durable/fields.hpp"
#include "durable/flow_state.hpp"
#include "tiffany/wal/record.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany {
namespace {

using detail::Arrival;
using detail::Command;
using detail::Fields;
using wal::RecordType;

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

template <class Value>
Arrival arrival_of(const Fields& fields, std::string id, const Value& value) {
  Arrival arrival;
  arrival.id = std::move(id);
  arrival.failed = fields.has("error");
  arrival.unknown = fields.has("unknown");
  arrival.value = arrival.failed ? fields.text("error") : value("result");
  return arrival;
}

}  // namespace

void FlowState::load(const std::vector<std::string>& lines) {
  History history;
  back_ = true;
  for (const std::string& line : lines) {
    wal::RecordView view;
    const std::string_view text = std::string_view(line).substr(0, line.size() - 1);
    if (wal::read_line(text, 0, view) != wal::LineFault::none) {
      throw Error(Errc::log_damaged, "A line of the log of task " + id_text_ +
                                         " was right when the log was opened and is not now.");
    }
    bytes += line.size();
    const Fields fields(view.payload, text);
    const std::int64_t time = wal::parse_time(view.ts).value_or(0);
    // A value may lie beside the log.
    const auto value = [&](std::string_view name) {
      return host_.store_->value_of(fields.raw(name));
    };
    const auto remember = [&](const char* kind, std::string id) -> Command& {
      Command& recorded = history.command(kind, std::move(id));
      if (recorded.seq == 0) recorded.seq = view.seq;
      recorded.hash = fields.text("hash");
      if (recorded.place.empty()) recorded.place = fields.place();
      return recorded;
    };
    const auto came = [&](Arrival arrival) {
      arrival.time = time;
      arrival.seq = view.seq;
      history.arrivals.push_back(std::move(arrival));
    };
    switch (view.type) {
      case RecordType::Spawn:
        arguments = value("args");
        log_version_ = static_cast<int>(fields.number("version"));
        rules_ = static_cast<int>(fields.number("rules"));
        now = time;
        if (fields.has("fork_of")) {
          seed_ = Uuid::parse(fields.text("fork_of")).value_or(Uuid()).hash();
          random = Random(seed_, "durable task");
        }
        break;
      case RecordType::StepStart: {
        Command& recorded = remember("step", fields.text("step"));
        recorded.begun = true;
        recorded.due = wal::parse_time(fields.text("due")).value_or(0);
        recorded.lost = recorded.due == 0;
        recorded.attempts = static_cast<int>(fields.number("attempt"));
        recorded.details = fields.text("details");
        break;
      }
      case RecordType::StepEnd:
        remember("step", fields.text("step"));
        came(arrival_of(fields, fields.text("step"), value));
        break;
      case RecordType::Command: {
        const std::string op = fields.text("op");
        if (op == "retry") {
          history.forget_from(fields.text("from"));
          generation_ = std::to_string(view.seq);
        } else if (op == "pause") {
          history.nothing_was_lost();
        } else if (op == "timer" || op == "promise" || op == "spawn" || op == "version" ||
                   op == "signal") {
          Command& recorded = remember(op.c_str(), fields.text("id"));
          recorded.shape = fields.text("type");
          recorded.due = wal::parse_time(fields.text("until")).value_or(0);
          recorded.value = static_cast<int>(fields.number("value"));
          const std::string uuid = fields.text(op == "promise" ? "promise" : "child");
          recorded.uuid = Uuid::parse(uuid).value_or(Uuid());
        }
        break;
      }
      case RecordType::Resumed:
      case RecordType::Approval:
        if (fields.has("signal")) {
          Arrival arrival = arrival_of(fields, fields.text("signal"), value);
          arrival.kind = Arrival::Kind::signal;
          arrival.value = value("value");
          came(std::move(arrival));
        } else if (fields.has("cancel")) {
          Arrival arrival = arrival_of(fields, fields.text("cancel"), value);
          arrival.kind = Arrival::Kind::cancel;
          came(std::move(arrival));
        } else {
          came(arrival_of(fields, fields.text("of"), value));
        }
        break;
      case RecordType::Checkpoint:
        history.clear();
        saved = value("state");
        read_mailbox(fields.raw("mailbox"));
        cancelled_.reset();
        if (fields.has("cancelled")) cancelled_ = fields.text("cancelled");
        now = time;
        begin_generation(records_waits() ? static_cast<std::uint64_t>(fields.number("number"))
                                         : view.seq);
        break;
      default:
        break;
    }
  }
  if (host_.store_->found().shut_down) history.nothing_was_lost();
  checked_ = false;
  commands_ = std::move(history.commands);
  arrivals_ = detail::ArrivalQueue(std::move(history.arrivals));
  synced_ = arrivals_.size();
  for (const Arrival& arrival : arrivals_)
    cancels_ += arrival.kind == Arrival::Kind::cancel ? 1 : 0;
}

}  // namespace tiffany

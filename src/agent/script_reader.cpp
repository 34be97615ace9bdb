// The text of a script. docs/25-agents.md has the format for those who write one.
#include <limits>

#include "agent/config_reader.hpp"
#include "tiffany/agent/script.hpp"

namespace tiffany::agent {

class ScriptReader {
 public:
  ScriptReader(const std::string& name, std::string_view text) : in_(name, text) {
    script_.name_ = name;
  }

  Script read() {
    in_.whole([&] {
      if (in_.kind() == JsonKind::array) {
        read_replies();
      } else {
        read_object();
      }
    });
    return std::move(script_);
  }

 private:
  static constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

  void read_object() {
    bool replies = false;
    in_.object({"replies", "otherwise", "embeddings"}, [&](std::string_view name) {
      if (name == "replies") {
        replies = true;
        read_replies();
      } else if (name == "embeddings") {
        replies = true;
        in_.array(Script::kMostReplies,
                  [&](std::size_t) { script_.embeddings_.push_back(read_embeddings_fault()); });
      } else {
        script_.otherwise_ = read_entry();
        if (script_.otherwise_->conditional) in_.fail("has a `when`, but answers what is left.");
      }
    });
    if (!replies) in_.fail("has no \"replies\".");
  }
  void read_replies() {
    in_.array(Script::kMostReplies, [&](std::size_t) { script_.entries_.push_back(read_entry()); });
  }

  ScriptEntry read_entry() {
    ScriptEntry entry;
    bool paused = false;
    bool waits = false;
    in_.object({"when", "reply", "fault", "times", "retry_after", "pause_ms"},
               [&](std::string_view name) {
                 if (name == "when") {
                   entry.conditional = true;
                   read_when(entry);
                 } else if (name == "reply") {
                   entry.replies = true;
                   read_reply(entry);
                 } else if (name == "fault") {
                   read_fault(entry);
                 } else if (name == "times") {
                   entry.times = static_cast<int>(in_.integer(1, kMost));
                 } else if (name == "retry_after") {
                   waits = true;
                   read_retry_after(entry);
                 } else {
                   paused = true;
                   entry.pause = std::chrono::milliseconds(in_.integer(0, 86'400'000));
                 }
               });
    complete(entry, paused, waits);
    return entry;
  }

  ScriptEntry read_embeddings_fault() {
    ScriptEntry entry;
    bool paused = false;
    bool waits = false;
    in_.object({"when", "fault", "times", "retry_after", "pause_ms"}, [&](std::string_view name) {
      if (name == "when") {
        in_.object({"contains", "model"}, [&](std::string_view what) {
          (what == "contains" ? entry.contains : entry.model) = in_.text();
        });
      } else if (name == "fault") {
        read_embeddings_fault_of(entry);
      } else if (name == "times") {
        entry.replies = true;  // behind the fault
        entry.times = static_cast<int>(in_.integer(1, kMost));
      } else if (name == "retry_after") {
        waits = true;
        read_retry_after(entry);
      } else {
        paused = true;
        entry.pause = std::chrono::milliseconds(in_.integer(0, 86'400'000));
      }
    });
    if (entry.fault == Fault::none) in_.fail("has no \"fault\".");
    complete_pauses(entry, paused, waits);
    return entry;
  }
  void read_embeddings_fault_of(ScriptEntry& entry) {
    if (in_.kind() == JsonKind::number) {
      read_fault(entry);
      return;
    }
    const std::string word = in_.text_of(
        {"stall", "cut", "bad_utf8", "slow", "one_less", "dimension", "zeros", "not_a_number"});
    entry.fault = word == "stall"       ? Fault::stall
                  : word == "cut"       ? Fault::cut
                  : word == "bad_utf8"  ? Fault::bad_utf8
                  : word == "slow"      ? Fault::slow
                  : word == "one_less"  ? Fault::one_less
                  : word == "dimension" ? Fault::dimension
                  : word == "zeros"     ? Fault::zeros
                                        : Fault::not_a_number;
  }

  void complete(ScriptEntry& entry, bool paused, bool waits) {
    if (!entry.replies && entry.fault == Fault::none) in_.fail("has neither a reply nor a fault.");
    if (!entry.replies && (entry.fault == Fault::slow || entry.fault == Fault::cut ||
                           entry.fault == Fault::bad_utf8)) {
      in_.fail("has a fault that is one of a reply, and no reply.");
    }
    if (entry.fault == Fault::truncated_arguments && entry.calls.empty()) {
      in_.fail("has the fault \"truncated_arguments\", and no call in its reply.");
    }
    complete_pauses(entry, paused, waits);
  }
  void complete_pauses(ScriptEntry& entry, bool paused, bool waits) const {
    const bool patient = entry.status == 429 || entry.status == 503;
    const bool pauses = entry.fault == Fault::stall || entry.fault == Fault::slow;
    if (waits && !patient) in_.fail("has \"retry_after\", which is for 429 and 503.");
    if (paused && !pauses) in_.fail("has \"pause_ms\", which is for \"stall\" and \"slow\".");
    if (patient && !waits) entry.retry_after = std::chrono::seconds(1);
    if (!paused && entry.fault == Fault::stall) entry.pause = std::chrono::seconds(60);
    if (!paused && entry.fault == Fault::slow) entry.pause = std::chrono::milliseconds(50);
  }

  void read_when(ScriptEntry& entry) {
    in_.object({"contains", "turn", "model"}, [&](std::string_view name) {
      if (name == "contains") {
        entry.contains = in_.text();
      } else if (name == "turn") {
        entry.turn = in_.integer(1, kMost);
      } else {
        entry.model = in_.text();
      }
    });
  }

  void read_reply(ScriptEntry& entry) {
    bool stops = false;
    in_.object({"text", "calls", "stop", "usage"}, [&](std::string_view name) {
      if (name == "text") {
        entry.text = in_.text();
      } else if (name == "calls") {
        in_.array(100, [&](std::size_t) { entry.calls.push_back(read_call()); });
      } else if (name == "stop") {
        stops = true;
        entry.stop = read_stop();
      } else {
        entry.usage = read_usage();
      }
    });
    if (!stops && !entry.calls.empty()) entry.stop = Stop::tools;
  }

  ToolCall read_call() {
    ToolCall call;
    call.arguments = "{}";
    in_.object({"name", "arguments", "id"}, [&](std::string_view name) {
      if (name == "name") {
        call.name = in_.text();
      } else if (name == "id") {
        call.id = in_.text();
      } else if (in_.kind() == JsonKind::string) {
        call.arguments = in_.text();
      } else if (in_.kind() == JsonKind::object) {
        call.arguments = in_.json();
      } else {
        in_.fail("must be an object ({...}), or a text that is given as it is.");
      }
    });
    if (call.name.empty()) in_.fail("has no \"name\".");
    return call;
  }

  Stop read_stop() {
    const std::string word = in_.text_of({"end", "tools", "length", "refused"});
    if (word == "end") return Stop::end;
    if (word == "tools") return Stop::tools;
    return word == "length" ? Stop::length : Stop::refused;
  }

  Usage read_usage() {
    Usage usage;
    if (in_.kind() == JsonKind::null) {
      in_.null();
      return usage;
    }
    usage.known = true;
    in_.object({"input", "cached", "output"}, [&](std::string_view name) {
      (name == "input"    ? usage.input
       : name == "cached" ? usage.cached
                          : usage.output) = in_.integer(0, kMost);
    });
    return usage;
  }

  void read_fault(ScriptEntry& entry) {
    if (in_.kind() == JsonKind::number) {
      entry.status = static_cast<int>(in_.integer(400, 599));
      entry.fault = Fault::status;
      return;
    }
    const std::string word =
        in_.text_of({"stall", "cut", "bad_utf8", "truncated_arguments", "slow"});
    entry.fault = word == "stall"      ? Fault::stall
                  : word == "cut"      ? Fault::cut
                  : word == "bad_utf8" ? Fault::bad_utf8
                  : word == "slow"     ? Fault::slow
                                       : Fault::truncated_arguments;
  }

  void read_retry_after(ScriptEntry& entry) {
    if (in_.kind() == JsonKind::null) {
      in_.null();
    } else {
      entry.retry_after = std::chrono::seconds(in_.integer(0, 86'400));
    }
  }

  ConfigReader in_;
  Script script_;
};

Script Script::parse(std::string_view text, std::string name) {
  return ScriptReader(name, text).read();
}

}  // namespace tiffany::agent

#include "agent/wire.hpp"

#include <set>
#include <utility>

#include "agent/wire_parts.hpp"
#include "base/shown_text.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent::wire {

std::string string_or_nothing(JsonReader& in) {
  if (in.kind() == JsonKind::string) return in.string();
  in.raw();
  return {};
}

std::int64_t count_or_nothing(JsonReader& in) {
  const std::string_view raw = in.raw();
  JsonReader number(raw);
  try {
    const std::int64_t value = number.integer();
    return value < 0 ? -1 : value;
  } catch (const Error&) {  // no number, a fraction, or beyond 64 bits: the same as none
    return -1;
  }
}

Usage read_usage(JsonReader& in) {
  std::int64_t input = -1;
  std::int64_t output = -1;
  std::int64_t cached = 0;
  members(in, [&](std::string_view name) {
    if (name == "prompt_tokens" || name == "input_tokens") {
      input = count_or_nothing(in);
    } else if (name == "completion_tokens" || name == "output_tokens") {
      output = count_or_nothing(in);
    } else if (name == "prompt_tokens_details" || name == "input_tokens_details") {
      members(in, [&](std::string_view detail) {
        if (detail == "cached_tokens") {
          cached = count_or_nothing(in);
        } else {
          in.raw();
        }
      });
    } else {
      in.raw();
    }
  });
  Usage usage;
  if (input < 0 || output < 0) return usage;
  usage.input = input;
  usage.output = output;
  usage.cached = cached < 0 || cached > input ? 0 : cached;
  usage.known = true;
  return usage;
}

std::string read_error(JsonReader& in) {
  if (in.kind() == JsonKind::string) return in.string();
  std::string sentence;
  std::string code;
  members(in, [&](std::string_view name) {
    if (name == "message") {
      sentence = string_or_nothing(in);
    } else if (name == "code" && in.kind() == JsonKind::string) {
      code = in.string();
    } else {
      in.raw();
    }
  });
  if (code.empty()) return sentence;
  return sentence.empty() ? code : sentence + " (" + code + ")";
}

std::string error_of_body(std::string_view body) {
  std::string sentence;
  std::string other;
  try {
    JsonReader in(body);
    members(in, [&](std::string_view name) {
      if (name == "error") {
        sentence = read_error(in);
      } else if (name == "message" || name == "detail") {
        other = string_or_nothing(in);
      } else {
        in.raw();
      }
    });
  } catch (const Error&) {  // no JSON, or a part of it: the text itself is shown
    return std::string(body);
  }
  return sentence.empty() ? other : sentence;
}

namespace {

// The arguments as the model wrote them, which are a JSON object.
void check_arguments(const ToolCall& call, Stop stop) {
  std::string problem;
  try {
    JsonReader in(call.arguments);
    if (in.kind() != JsonKind::object) problem = "They are no JSON object.";
    in.raw();
    in.end();
  } catch (const Error& error) {
    problem = error.what();
  }
  if (problem.empty()) return;
  if (stop == Stop::length) {
    problem += " The reply was cut off at its limit of tokens: raise most_output.";
  }
  throw Error(Errc::bad_reply, "The arguments for the tool " +
                                   tiffany::detail::shown(call.name.substr(0, 80)) +
                                   " are not valid. " + problem);
}

}  // namespace

Reply Assembler::finish(std::int64_t turn) {
  Reply reply = gathered();
  std::set<std::string> ids;
  int number = 0;
  for (ToolCall& call : reply.message.calls) {
    ++number;
    if (call.name.empty()) {
      throw Error(Errc::bad_reply, "A call of a tool has no name of the tool.");
    }
    if (call.id.empty()) call.id = "call_" + std::to_string(turn) + "_" + std::to_string(number);
    if (!ids.insert(call.id).second) {
      throw Error(Errc::bad_reply, "Two calls of tools have the id " +
                                       tiffany::detail::shown(call.id.substr(0, 80)) + ".");
    }
    if (call.arguments.empty()) call.arguments = "{}";  // so does OpenAI write "no arguments"
    check_arguments(call, reply.stop);
  }
  return reply;
}

}  // namespace tiffany::agent::wire

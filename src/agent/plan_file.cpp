#include "tiffany/agent/plan_file.hpp"

#include "agent/endpoint_failure.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/time_text.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/io/file.hpp"

namespace tiffany::agent {

namespace {

[[noreturn]] void throw_fault(const std::string& script, const ScriptEntry& entry) {
  switch (entry.fault) {
    case Fault::status:
      throw_for_status(entry.status,
                       script + " has the fault " + std::to_string(entry.status) + " here.",
                       entry.retry_after);
    case Fault::stall:
      throw Error(Errc::model_failed, script + " has the fault \"stall\" here: nothing came for " +
                                          duration_text(entry.pause) + ".");
    case Fault::bad_utf8:
      throw Error(Errc::bad_reply, script + " has the fault \"bad_utf8\" here.");
    case Fault::truncated_arguments:
      throw Error(Errc::bad_reply, script + " has the fault \"truncated_arguments\" here.");
    default:
      throw Error(Errc::model_failed, script + " has the fault \"cut\" here: the reply broke off.");
  }
}

}  // namespace

Task<Reply> PlanFile::ask(Request request, Try attempt, LiveText live) {
  const ScriptEntry& entry = script_.pick(request);
  if (entry.fails(attempt.number)) {
    if (entry.fault == Fault::stall) co_await sleep(entry.pause);
    throw_fault(script_.name(), entry);
  }
  Reply reply = Script::reply(entry, request);
  for (const std::string_view piece : pieces_of(reply.message.text)) {
    if (entry.fault == Fault::slow) co_await sleep(entry.pause);
    if (live) live(piece);
  }
  co_return reply;
}

Task<Script> read_script(std::string path) {
  const std::string text = co_await read_file(path, Script::kMostBytes);
  co_return Script::parse(text, path);
}

}  // namespace tiffany::agent

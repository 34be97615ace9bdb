#include "app/mcp_tools.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "app/mcp_app_tools.hpp"
#include "tiffany/agent/agent.hpp"
#include "tiffany/agent/schema.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/plan/run.hpp"

namespace tiffany::app {
namespace {

constexpr int kUsualEvents = 50;

// The API takes beginnings of ids, which people type. A model that has made one up is not to meet a
// task that it does not mean.
std::string task_in(const RawObject& arguments) {
  const std::optional<Uuid> id = Uuid::parse(arguments.text("task"));
  if (!id) {
    throw CliFailure{ends::kUsage, "\"" + arguments.text("task") +
                                       "\" is no id of a task: give all of it, as submit did."};
  }
  return id->text();
}

// {"a":1} and "b", 2: {"a":1,"b":2}.
std::string with_member(std::string object, std::string_view name, const std::string& json) {
  object.pop_back();
  const bool first = object.find_first_not_of(" \t\r\n", 1) == std::string::npos;
  return object + (first ? "" : ",") + quoted_json(name) + ":" + json + "}";
}

// What is asked of the code of a task has no answer once it has ended, and that is no failure.
Task<Json> view_or_nothing(McpDoor& door, std::string path) {
  try {
    co_return co_await door.get(std::move(path));
  } catch (const CliFailure& failure) {
    if (failure.status == ends::kNoDaemon) throw;
  }
  co_return Json();
}

Task<std::string> submit_tool(McpDoor& door, RawObject arguments, McpProgress&) {
  const Json task = co_await mcp_start(door, std::move(arguments));
  co_return task.raw();
}

Task<std::string> get_tool(McpDoor& door, RawObject arguments, McpProgress&) {
  co_return co_await mcp_task(door, task_in(arguments));
}

Task<std::string> wait_tool(McpDoor& door, RawObject arguments, McpProgress& progress) {
  const std::string id = task_in(arguments);
  const std::string seconds =
      arguments.raw("seconds", std::to_string(kLongestMcpWaitSeconds));  // whole, by the schema
  const Json ended = co_await progress.wait(id, std::stoi(seconds));
  if (!mcp_task_goes_on(ended)) co_return ended.raw();
  co_return co_await mcp_task(door, id);
}

Task<std::string> events_tool(McpDoor& door, RawObject arguments, McpProgress&) {
  const Json page = co_await door.get(
      "/tasks/" + task_in(arguments) + "/records?after=" + arguments.raw("after", "0") +
      "&limit=" + arguments.raw("limit", std::to_string(kUsualEvents)));
  co_return page.raw();
}

Task<std::string> cancel_tool(McpDoor& door, RawObject arguments, McpProgress&) {
  const std::string body = "{\"reason\":" + quoted_json(arguments.text("reason")) + "}";
  const Json done = co_await door.post("/tasks/" + task_in(arguments) + "/cancel", body);
  co_return done.raw();
}

Task<std::string> approve_tool(McpDoor& door, RawObject arguments, McpProgress&) {
  const std::string body = "{\"approved\":" + arguments.raw("approved") +
                           ",\"digest\":" + arguments.raw("digest") +
                           ",\"note\":" + arguments.raw("note", "\"\"") + "}";
  const Json done = co_await door.post("/tasks/" + task_in(arguments) + "/decide", body);
  co_return done.raw();
}

constexpr std::string_view kSubmitInput =
    R"({"type":"object","properties":{)"
    R"("type":{"type":"string","description":"type of a task that the daemon knows"},)"
    R"("arguments":{"description":"its arguments: an array in their order, or an object by names",)"
    R"("anyOf":[{"type":"array","items":{}},{"type":"object"}]},)"
    R"("instruction":{"type":"string","description":"instead of type: what an agent is to do"},)"
    R"("repository":{"type":"string","description":)"
    R"("for an agent: the absolute path of a git repository"},)"
    R"("base":{"type":"string","description":"for an agent: revision to begin with, else HEAD"},)"
    R"("onto":{"type":"string","description":"for an agent: branch that gets the commit"},)"
    R"("model":{"type":"string","description":"for an agent: name of a model of the daemon"},)"
    R"("plan":{"type":"string","description":"instead of type: a whole plan, in YAML or JSON"},)"
    R"("params":{"type":"object","description":"for a plan: its parameters, by names"},)"
    R"("key":{"type":"string","minLength":1,"maxLength":255,"description":)"
    R"("the same key is the same task: submitting again after a lost answer starts nothing"}},)"
    R"("additionalProperties":false})";
constexpr std::string_view kTaskInput =
    R"({"type":"object","properties":{)"
    R"("task":{"type":"string","description":"id of the task, as submit gave it"}},)"
    R"("required":["task"],"additionalProperties":false})";
constexpr std::string_view kWaitInput =
    R"({"type":"object","properties":{)"
    R"("task":{"type":"string","description":"id of the task, as submit gave it"},)"
    R"("seconds":{"type":"integer","minimum":0,"maximum":45,"description":)"
    R"("at most so long, else 45"}},)"
    R"("required":["task"],"additionalProperties":false})";
constexpr std::string_view kEventsInput =
    R"({"type":"object","properties":{)"
    R"("task":{"type":"string","description":"id of the task, as submit gave it"},)"
    R"("after":{"type":"integer","minimum":0,"description":)"
    R"("only records behind this number; the next page is behind \"next\" of this one"},)"
    R"("limit":{"type":"integer","minimum":1,"maximum":200,"description":)"
    R"("at most so many, else 50"}},)"
    R"("required":["task"],"additionalProperties":false})";
constexpr std::string_view kCancelInput =
    R"({"type":"object","properties":{)"
    R"("task":{"type":"string","description":"id of the task, as submit gave it"},)"
    R"("reason":{"type":"string","description":"why, for the log"}},)"
    R"("required":["task"],"additionalProperties":false})";
constexpr std::string_view kApproveInput =
    R"({"type":"object","properties":{)"
    R"("task":{"type":"string","description":"id of the task, as submit gave it"},)"
    R"("digest":{"type":"string","description":"digest of the question, as get shows it"},)"
    R"("approved":{"type":"boolean","description":"false: it is rejected"},)"
    R"("note":{"type":"string","description":"why, for the log"}},)"
    R"("required":["task","digest","approved"],"additionalProperties":false})";

constexpr std::string_view kLooks =
    R"("readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false)";

constexpr std::array kTools{
    McpTool{"submit", "Start a durable task",
            "Starts a task that survives crashes and restarts, and answers with its id as soon as "
            "the task is on disk. Give one of: type with arguments, instruction with repository "
            "(an agent that proposes a patch), or plan. Give a key, so that submitting again does "
            "not start a second task. Look at the task with get or wait.",
            kSubmitInput,
            R"("readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,)"
            R"("openWorldHint":true)",
            false, submit_tool},
    McpTool{"get", "Look at a task",
            "Status, result or error of a task, what it waits for, and how its plan or agent "
            "stands. A wait of kind promise is a question to a person.",
            kTaskInput, kLooks, false, get_tool},
    McpTool{"wait", "Wait for a task",
            "Waits until a task has ended, at most 45 seconds, and answers as get does. Call it "
            "again while the status is running.",
            kWaitInput, kLooks, false, wait_tool},
    McpTool{"events", "Read the log of a task",
            "What a task has done: records of its log, the oldest first, from a number on.",
            kEventsInput, kLooks, false, events_tool},
    McpTool{"cancel", "Cancel a task",
            "Asks a task to stop; its code unwinds and may undo what it did. It does not wait for "
            "the end of the task.",
            kCancelInput,
            R"("readOnlyHint":false,"destructiveHint":true,"idempotentHint":true,)"
            R"("openWorldHint":false)",
            false, cancel_tool},
    McpTool{"approve", "Answer what a plan or an agent asks a person",
            "Approves or rejects what a plan or an agent waits for, by the digest that get shows. "
            "Only a person decides this: show the question and ask first.",
            kApproveInput,
            R"("readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,)"
            R"("openWorldHint":true)",
            true, approve_tool}};

}  // namespace

bool mcp_task_goes_on(const Json& task) {
  const std::string& status = task["status"].text();
  return status == "running" || status == "queued" || status == "paused";
}

std::string one_line(std::string json) {
  std::ranges::replace_if(json, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return json;
}

const McpTool* mcp_tool(std::string_view name, bool with_approvals) noexcept {
  const auto* const found = std::ranges::find(kTools, name, &McpTool::name);
  if (found == kTools.end() || (found->answers_for_people && !with_approvals)) return nullptr;
  return found;
}

std::string mcp_tool_list(const App& app, bool with_approvals) {
  std::string out = "[";
  for (const McpTool& each : kTools) {
    if (each.answers_for_people && !with_approvals) continue;
    out += std::string(out.size() > 1 ? "," : "") + "{\"name\":" + quoted_json(each.name) +
           ",\"title\":" + quoted_json(each.title) + ",\"description\":" + quoted_json(each.about) +
           ",\"inputSchema\":";
    out.append(each.input).append(",\"annotations\":{").append(each.hints).append("}}");
  }
  for (const App::Tool& each : app.tools()) out += "," + app_tool_text(app, each);
  return out + "]";
}

std::string mcp_tool_result(const std::string& json, bool failed) {
  if (json.size() > kLongestMcpAnswer) {
    return mcp_tool_failure("The answer has " + std::to_string(json.size()) +
                            " bytes, and this tool gives at most " +
                            std::to_string(kLongestMcpAnswer) +
                            ". Ask for less (limit of events), or use the command line.");
  }
  const std::string line = one_line(json);
  return "\"content\":[{\"type\":\"text\",\"text\":" + quoted_json(line) +
         "}],\"structuredContent\":" + line + ",\"isError\":" + (failed ? "true" : "false");
}

std::string mcp_tool_failure(const std::string& sentence) {
  return "\"content\":[{\"type\":\"text\",\"text\":" + quoted_json(sentence) +
         "}],\"isError\":true";
}

std::string mcp_misfits(std::string_view tool, std::string_view input,
                        const std::string& arguments) {
  std::string all;
  for (const std::string& each : agent::Schema::read(input).check(arguments)) {
    all += (all.empty() ? "The arguments of " + std::string(tool) + " do not fit: " : " ") + each;
  }
  return all;
}

Task<std::string> call_mcp_tool(McpDoor& door, const McpTool& tool, std::string arguments,
                                McpProgress& progress) {
  std::string why = mcp_misfits(tool.name, tool.input, arguments);
  if (!why.empty()) co_return mcp_tool_failure(why);
  try {
    co_return mcp_tool_result(co_await tool.call(door, RawObject::parse(arguments), progress));
  } catch (const CliFailure& failure) {
    why = failure.sentence;
  } catch (const Error& error) {
    why = error.what();
  }
  co_return mcp_tool_failure(why);
}

Task<Json> mcp_start(McpDoor& door, RawObject arguments) {
  const int ways = static_cast<int>(arguments.has("type")) +
                   static_cast<int>(arguments.has("instruction")) +
                   static_cast<int>(arguments.has("plan"));
  if (ways != 1) {
    throw CliFailure{ends::kUsage, "Say one of type, instruction and plan."};
  }
  const auto only_with = [&](std::string_view way, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (arguments.has(name) && !arguments.has(way)) {
        throw CliFailure{ends::kUsage, std::string(name) + " goes with " + std::string(way) +
                                           ", and there is none."};
      }
    }
  };
  only_with("type", {"arguments"});
  only_with("instruction", {"repository", "base", "onto", "model"});
  only_with("plan", {"params"});
  const std::string id = arguments.has("key") ? ",\"id\":" + arguments.raw("key") : "";
  std::string path = "/tasks";
  std::string body;
  if (arguments.has("plan")) {
    path = "/plans/run";
    body = "{\"text\":" + arguments.raw("plan") + ",\"params\":" + arguments.raw("params", "{}");
  } else if (arguments.has("type")) {
    body =
        "{\"type\":" + arguments.raw("type") + ",\"arguments\":" + arguments.raw("arguments", "[]");
  } else {
    agent::Instruction ask;
    ask.instruction = arguments.text("instruction");
    ask.repository = arguments.text("repository");
    ask.base = arguments.text("base");
    ask.onto = arguments.text("onto");
    ask.model = arguments.text("model");
    // The daemon works in another directory than the client.
    if (!ask.repository.starts_with('/')) {
      throw CliFailure{ends::kUsage, "repository is the absolute path of a git repository."};
    }
    body = "{\"type\":" + quoted_json(agent::kAgentType) + ",\"arguments\":[" + to_json(ask) + "]";
  }
  co_return co_await door.post(std::move(path), body + id + "}");
}

Task<Json> mcp_task_view(McpDoor& door, Json task) {
  const bool agents = task["type"].text() == agent::kAgentType;
  const bool plans = task["type"].text() == plan::kPlanType;
  if (!mcp_task_goes_on(task) || (!agents && !plans)) co_return Json();
  co_return co_await view_or_nothing(
      door, "/tasks/" + task["id"].text() + (agents ? "/query?name=agent" : "/plan"));
}

Task<std::string> mcp_task(McpDoor& door, std::string id) {
  const Json task = co_await door.get("/tasks/" + id);
  const Json view = co_await mcp_task_view(door, task);
  if (view.null()) co_return task.raw();
  const bool agents = task["type"].text() == agent::kAgentType;
  co_return with_member(task.raw(), agents ? "agent" : "plan", view.raw());
}

}  // namespace tiffany::app

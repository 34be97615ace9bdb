#include "tiffany/agent/mcp_tools.hpp"

#include <algorithm>

#include "agent/mcp_session.hpp"
#include "tiffany/agent/schema.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/json_reader.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kLongestServerName = 24;

void check_mcp_options(const McpOptions& options) {
  const auto refuse = [&](const std::string& why) -> void {
    throw Error(Errc::bad_argument,
                "The MCP server \"" + mcp::in_a_sentence(options.name, 80) + "\" " + why);
  };
  const bool good = std::ranges::all_of(options.name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  if (options.name.empty() || options.name.size() > kLongestServerName || !good ||
      options.name.find("__") != std::string::npos) {
    refuse(
        "needs a name of letters, digits, '-' and '_', at most 24 of them and no two '_' in a "
        "row.");
  }
  if (options.command.empty() == options.url.empty()) {
    refuse("needs a \"command\" or a \"url\", and not both.");
  }
  if (!options.command.empty() && options.command.front().empty()) {
    refuse("has a command without a program.");
  }
  if (options.start <= Duration::zero() || options.idle <= Duration::zero() ||
      options.deadline <= Duration::zero()) {
    refuse("has a time that is not more than zero.");
  }
}

mcp::Connect connect_of(const McpOptions& options) {
  if (!options.url.empty()) return mcp::service_of(options);
  return [options] { return mcp::start_program(options); };
}

bool is_an_object(std::string_view json) {
  try {
    JsonReader in(json);
    if (in.kind() != JsonKind::object) return false;
    in.raw();
    in.end();
    return true;
  } catch (const Error&) {
    return false;
  }
}

class McpTool final : public Tool {
 public:
  McpTool(std::shared_ptr<mcp::Session> session, const mcp::Definition& tool, ToolOffer offered)
      : session_(std::move(session)),
        name_(tool.name),
        offer_(std::move(offered)),
        traits_(mcp::traits_of(session_->options, tool)),
        schema_(Schema::read_known(tool.schema)) {}
  const ToolOffer& offer() const noexcept override { return offer_; }
  const ToolTraits& traits() const noexcept override { return traits_; }

  // What is understood of the schema is checked here, so that a mistake costs no call and no
  // question to a person. The server checks all of it.
  std::string mistake_in(std::string_view arguments) const override {
    if (!is_an_object(arguments)) return "The arguments of " + offer_.name + " are no JSON object.";
    std::string all;
    for (const std::string& each : schema_.check(arguments)) {
      all += (all.empty() ? "" : " ") + each;
    }
    return all.empty() ? all : "The arguments of " + offer_.name + " do not fit: " + all;
  }

  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    mcp::Call call;
    call.tool = name_;
    call.arguments = compact_json(arguments);
    call.pin = where.accepted.empty() ? traits_.pin : where.accepted;
    std::string lost;
    try {
      co_await session_->call(call);
    } catch (const Error& error) {
      lost = error.what();
    }
    ToolAnswer answer;
    answer.canvas = where.canvas;
    if (!lost.empty()) {
      if (call.sent && traits_.effect == StepEffect::at_most_once) {
        throw StepUnknown(lost +
                          " The answer to the call is lost, and nobody knows whether it had its "
                          "effect. It may happen once at most, so it was not made again.");
      }
      if (call.sent) throw Error(Errc::io_failed, lost + " The answer to the call is lost.");
      answer.failed = true;
      answer.text = lost + " The call was not made.";
    } else if (!call.drift.empty()) {
      answer.failed = true;
      answer.drift = call.drift;
      answer.text = "The MCP server " + session_->options.name + " offers the tool \"" + name_ +
                    "\" differently than it did when it was accepted. The call was not made.\n" +
                    call.difference;
    } else {
      answer.failed = call.result.failed;
      answer.text = std::move(call.result.text);
      answer.handle = std::move(call.result.task);
      if (!answer.handle.empty()) {
        answer.text = "The server goes on with the call as its task " + answer.handle + ".";
      }
    }
    co_return answer;
  }

  Task<ToolAnswer> await(ToolContext where) override {
    ToolAnswer answer;
    answer.canvas = where.canvas;
    try {
      mcp::CallResult ended = co_await session_->await_task(where.handle);
      answer.failed = ended.failed;
      answer.text = std::move(ended.text);
    } catch (const Error& error) {
      answer.failed = true;
      answer.text = std::string(error.what()) + " Nobody knows whether the call had its effect.";
    }
    co_return answer;
  }

  Task<void> stop(ToolContext where) override {
    if (!where.handle.empty()) co_await session_->cancel_task(where.handle);
  }

 private:
  std::shared_ptr<mcp::Session> session_;
  std::string name_;
  ToolOffer offer_;
  ToolTraits traits_;
  Schema schema_;
};

}  // namespace

McpServer::McpServer(McpOptions options) {
  check_mcp_options(options);
  mcp::Connect connect = connect_of(options);
  session_ = std::make_shared<mcp::Session>(std::move(options), std::move(connect));
}
McpServer::McpServer(McpOptions options,
                     std::function<Task<std::shared_ptr<mcp::Link>>()> connect) {
  check_mcp_options(options);
  session_ = std::make_shared<mcp::Session>(std::move(options), std::move(connect));
}
McpServer::~McpServer() = default;

const McpOptions& McpServer::options() const noexcept { return session_->options; }

bool McpServer::know(std::string_view kept) {
  mcp::ToolList list;
  if (!list.read(kept, session_->options)) return false;
  const std::string& pin = session_->options.pin;
  if (!pin.empty() && list.digest(session_->options) != pin) return false;
  session_->kept = std::move(list);
  session_->known = true;
  return true;
}

Task<void> McpServer::learn() { co_await session_->learn(); }
Task<McpDifference> McpServer::compare() {
  const mcp::ToolList now = co_await session_->offered();
  const McpOptions& chosen = session_->options;
  McpDifference found;
  found.kept = session_->known ? list_digest() : std::string();
  found.now = now.digest(chosen);
  for (const mcp::Definition* const each : session_->kept.allowed(chosen)) {
    const mcp::Definition* const other = now.find(each->name);
    if (other != nullptr && other->digest == each->digest) continue;
    found.changes.push_back(
        {each->name, other == nullptr ? "removed" : "changed", mcp::difference(*each, other)});
  }
  for (const mcp::Definition* const each : now.allowed(chosen)) {
    if (session_->kept.find(each->name) != nullptr) continue;
    found.changes.push_back({each->name, "added", mcp::difference(mcp::Definition(), each)});
  }
  co_return found;
}

Task<void> McpServer::accept(std::string digest) {
  mcp::ToolList now = co_await session_->offered();
  const McpOptions& chosen = session_->options;
  const std::string server = "The MCP server " + chosen.name;
  const std::string found = now.digest(chosen);
  if (found != digest) {
    throw Error(Errc::bad_argument,
                server + " offers a list with the digest " + found + " by now. Look at it again.");
  }
  if (!chosen.pin.empty() && found != chosen.pin) {
    throw Error(Errc::bad_argument, server + " has the pin " + chosen.pin +
                                        " in the file of the setting `agents`. Change it there.");
  }
  if (now.allowed(chosen).size() > mcp::kMostOffered) {
    throw Error(Errc::bad_argument,
                server + " offers more than 128 tools. Name those that agents need.");
  }
  session_->kept = std::move(now);
  session_->known = true;
}

bool McpServer::known() const noexcept { return session_->known; }
std::string McpServer::kept() const { return session_->kept.text(session_->options); }
std::string McpServer::list_digest() const { return session_->kept.digest(session_->options); }
const std::vector<std::string>& McpServer::left_out() const noexcept {
  return session_->kept.left_out();
}
Task<void> McpServer::close() { co_await session_->close(); }

void add_mcp_tools(ToolSet& tools, const std::shared_ptr<McpServer>& server) {
  std::map<std::string, std::string> names;
  const mcp::Session& session = *server->session_;
  const std::vector<const mcp::Definition*> all = session.kept.allowed(session.options);
  if (all.size() > mcp::kMostOffered) {
    throw Error(Errc::bad_tool, "The MCP server " + session.options.name + " offers " +
                                    std::to_string(all.size()) +
                                    " tools, and 128 are the most. Name those that agents need.");
  }
  for (const mcp::Definition* const each : all) {
    ToolOffer offer = mcp::offer_of(session.options, *each, names);
    tools.add(std::make_shared<McpTool>(server->session_, *each, std::move(offer)));
  }
}

}  // namespace tiffany::agent

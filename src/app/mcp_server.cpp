#include "app/mcp_server.hpp"

#include <chrono>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/structure/blocks.hpp"

namespace tiffany::app {
namespace {

constexpr Duration kLastAnswers = std::chrono::seconds(5);

}  // namespace

// ---- Reading ----

Task<void> McpServer::run() {
  try {
    co_await scope(report_failures, [&](Scope& calls) -> Task<void> {
      calls_ = &calls;
      watching_ = calls.spawn(tell_of_changes, this);
      co_await read_all(calls);
    });
  } catch (const ScopeCancelled&) {
    // Nobody is left to hear the answers that were under way.
  }
}

Task<void> McpServer::read_all(Scope& calls) {
  std::string line;
  for (;;) {
    const McpLines::Came came = co_await lines_.next(&line);
    if (came == McpLines::Came::end) break;
    if (came == McpLines::Came::too_long) {
      const RpcFailure failure{rpc::kNoRequest, "A message has at most " +
                                                    std::to_string(kLongestMessage) +
                                                    " bytes; this one was skipped."};
      co_await say(rpc_error("", failure));
      continue;
    }
    co_await take_line(calls, std::move(line));
    line.clear();
  }
  end_waits();
  calls.set_timeout(kLastAnswers);
}

void McpServer::end_waits() {
  watching_.cancel("the input has ended");
  for (auto each = running_.begin(); each != running_.end();) {
    if (!each->second.call->what.waits()) {
      ++each;
      continue;
    }
    each->second.task.cancel("the input has ended");
    each = running_.erase(each);
  }
}

Task<void> McpServer::take_line(Scope& calls, std::string line) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) co_return;
  std::string refused;
  try {
    if (is_rpc_batch(line)) {
      co_await take_batch(calls, std::move(line));
    } else {
      RpcMessage message = read_rpc_message(line);
      line = std::string();
      co_await take(calls, std::move(message), nullptr);
    }
    co_return;
  } catch (const RpcFailure& failure) {
    refused = rpc_error(failure.id, failure);
  }
  co_await say(std::move(refused));
}

Task<void> McpServer::take_batch(Scope& calls, std::string text) {
  const std::vector<std::string> all = read_rpc_batch(text, kMostCalls);
  text = std::string();
  if (!has_batches(version_)) {
    throw RpcFailure{rpc::kNoRequest,
                     "Batches are of the versions 2024-11-05 and 2025-03-26: send one message a "
                     "line."};
  }
  const BatchPtr batch = std::make_shared<Batch>();
  batch->open = 1;  // until all were taken
  for (const std::string& each : all) {
    std::string refused;
    try {
      RpcMessage message = read_rpc_message(each);
      if (message.method == "initialize") {
        throw RpcFailure{rpc::kNoRequest, "initialize is no part of a batch.", "", message.id};
      }
      if (!message.id.empty() && !message.method.empty()) ++batch->open;
      co_await take(calls, std::move(message), batch);
    } catch (const RpcFailure& failure) {
      refused = rpc_error(failure.id, failure);
    }
    if (refused.empty()) continue;
    ++batch->open;
    co_await reply(batch, std::move(refused));
  }
  co_await reply(batch, "");
}

Task<void> McpServer::take(Scope& calls, RpcMessage message, BatchPtr batch) {
  if (message.method.empty()) co_return;  // an answer, and nothing was asked
  if (message.id.empty()) {
    const CallPtr dropped = cancelled_by(message);
    if (dropped && dropped->batch) co_await reply(dropped->batch, "");
    co_return;
  }
  const std::string id = message.id;
  std::string answer;
  try {
    const McpAsker asker = engine_.asker_of(message, version_);
    engine_.require_method(message, asker);
    const std::optional<std::string> result = engine_.answer_at_once(message, asker);
    if (message.method == "initialize") version_ = McpEngine::version_for(message);
    if (!result) {
      start(calls, std::move(message), asker, batch);
      co_return;
    }
    answer = rpc_result(id, *result);
  } catch (const RpcFailure& failure) {
    answer = rpc_error(id, failure);
  } catch (const Error& error) {
    answer = rpc_error(id, RpcFailure{rpc::kBadParams, error.what()});
  }
  co_await reply(std::move(batch), std::move(answer));
}

McpServer::CallPtr McpServer::cancelled_by(const RpcMessage& message) {
  if (message.method != "notifications/cancelled" || !message.params.has("requestId")) return {};
  std::string id;
  try {
    id = rpc_id_in(message.params, "requestId");
  } catch (const RpcFailure&) {
    return {};  // a notification has no answer, and this one names no request
  }
  const auto found = running_.find(id);
  if (found == running_.end()) return {};  // answered meanwhile
  const CallPtr call = found->second.call;
  found->second.task.cancel("the client has cancelled the request");
  running_.erase(found);
  return call;
}

// ---- Calls ----

void McpServer::start(Scope& calls, RpcMessage message, const McpAsker& asker, BatchPtr batch) {
  const std::string id = message.id;
  if (running_.contains(id)) {
    throw RpcFailure{rpc::kNoRequest,
                     "The id " + id + " is of a request that is not answered yet."};
  }
  if (running_.size() == kMostCalls) {
    throw RpcFailure{rpc::kTooMany, "At most " + std::to_string(kMostCalls) +
                                        " calls are answered at a time: try again later."};
  }
  const CallPtr call = std::make_shared<Call>();
  call->server = this;
  call->what = engine_.call_of(std::move(message), asker);
  call->batch = std::move(batch);
  Running running;
  running.call = call;
  running.task = calls.spawn(run_call, this, call);
  running_[id] = std::move(running);
}

Task<void> McpServer::run_call(McpServer* server, CallPtr call) {
  std::string answer = co_await server->engine_.answer(&call->what, call.get());
  // From here on nothing cancels it: half a message would spoil those behind it.
  const auto found = server->running_.find(call->what.message.id);
  if (found == server->running_.end() || found->second.call != call) co_return;
  server->running_.erase(found);
  if (call->telling) co_await call->telling.outcome();  // nothing is told behind the answer
  co_await server->reply(call->batch, std::move(answer));
}

Task<void> McpServer::tell_of_changes(McpServer* server) {
  for (;;) {
    const std::vector<std::string> changed = co_await server->watched_.changed();
    for (const std::string& uri : changed) {
      // By a task of its own, so that the end leaves no half of a line.
      Handle<void> telling = server->calls_->spawn(
          say_beside, server,
          "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{"
          "\"uri\":" +
              quoted_json(uri) + "}}");
      co_await telling.outcome();
    }
  }
}

Task<void> McpServer::Call::tell(std::string notification) {
  if (telling && !telling.done()) co_return;  // whoever reads is slow
  telling = server->calls_->spawn(say_beside, server, std::move(notification));
}

Task<void> McpServer::say_beside(McpServer* server, std::string message) {
  co_await server->say(std::move(message));
}

// ---- Writing ----

Task<void> McpServer::reply(BatchPtr batch, std::string answer) {
  if (batch) {
    if (!answer.empty()) batch->answers += (batch->answers.empty() ? "" : ",") + answer;
    if (--batch->open > 0 || batch->answers.empty()) co_return;
    answer = "[" + batch->answers + "]";
  }
  co_await say(std::move(answer));
}

Task<void> McpServer::say(std::string message) {
  if (gone_) co_return;
  message += '\n';
  const Mutex::Guard guard = co_await writing_.lock();
  try {
    co_await out_.write(message);
  } catch (const IoError&) {
    gone_ = true;  // whoever read has gone: that is how clients end a server, too
    calls_->cancel("nobody reads the output");
  }
}

}  // namespace tiffany::app

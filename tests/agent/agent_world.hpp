// A world for agents without a network, a disk or a repository: what they do is counted.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/agent/agent.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/durable/crash_test.hpp"
#include "tiffany/durable/host.hpp"

namespace tiffany::agent {

// Says what the replies are, by how many there were before.
class ListedModel final : public Model {
 public:
  Task<Reply> ask(Request request, Try attempt, LiveText live) override {
    ++asked;
    last = request;
    co_await sleep(std::chrono::milliseconds(20));
    if (refuse && refuse(attempt.number)) throw Error(Errc::model_failed, "The model is ill.");
    std::size_t turn = 0;
    for (const Message& each : request.messages) turn += each.role == Role::assistant ? 1 : 0;
    if (turn >= replies.size()) throw NotRetryable(refusal);
    Reply reply;
    reply.message = replies[turn];
    reply.stop = reply.message.calls.empty() ? Stop::end : Stop::tools;
    reply.model = "listed";
    reply.usage.input = 100;
    reply.usage.output = 10;
    reply.usage.known = true;
    if (live) live(reply.message.text);
    co_return reply;
  }
  std::vector<Message> replies;
  std::function<bool(int attempt)> refuse;
  std::string refusal = "Nothing more is written down.";
  int asked = 0;
  Request last;
};

inline Message calls(std::string tool, std::string arguments = "{}", std::string id = "c") {
  ToolCall call;
  call.id = std::move(id);
  call.name = std::move(tool);
  call.arguments = std::move(arguments);
  std::vector<ToolCall> all;
  all.push_back(std::move(call));
  return Message::assistant("", std::move(all));
}

// Trees are texts that grow by what tools append.
class CountedRepositories final : public Repositories {
 public:
  Task<CanvasState> open(std::string, std::string, std::string) override {
    co_await sleep(std::chrono::milliseconds(1));
    CanvasState state;
    state.base = tip;
    state.tree = "tree";
    co_return state;
  }
  Task<CanvasState> keep(std::string, CanvasState canvas, std::string) override {
    ++kept;
    co_return canvas;
  }
  Task<std::string> diff(std::string, CanvasState canvas) override {
    require_there();
    co_return "+" + canvas.tree;
  }
  // What a conflict left there is gone once a tool has written.
  Task<std::vector<std::string>> unresolved(std::string, CanvasState canvas) override {
    std::vector<std::string> left;
    if (canvas.tree.ends_with("<<<<<<<")) left.push_back("a.c");
    co_return left;
  }
  Task<std::string> commit(CommitRequest request) override {
    co_await sleep(std::chrono::milliseconds(1));
    require_there();
    const std::string sha = "sha of " + request.parent + " " + request.tree + " " +
                            std::to_string(request.time.time_since_epoch().count()) + " " +
                            request.message;
    if (commits.count(request.ref) != 0 && commits[request.ref] == sha) co_return sha;
    if (request.parent != tip) throw Error(Errc::canvas_conflict, "The branch has moved.");
    if (!held.empty()) throw Error(Errc::canvas_conflict, held);
    if (CrashTest::alive()) {
      commits[request.ref] = sha;
      ++committed;
    }
    co_return sha;
  }
  Task<MergedCanvas> merge(std::string, CanvasState canvas, std::string, std::string) override {
    ++merges;
    MergedCanvas merged;
    merged.canvas = canvas;
    if (canvas.base == tip) co_return merged;
    merged.canvas.base = tip;
    merged.canvas.tree += " on " + tip;
    merged.marked = true;
    merged.base_tree = "tree on " + tip;
    if (!merged_tree.empty()) merged.canvas.tree = merged_tree;
    if (!conflict.empty()) {
      merged.canvas.tree += " <<<<<<<";
      merged.conflicts.push_back(conflict);
    }
    co_return merged;
  }
  Task<void> forget(std::string, std::string) override {
    ++forgotten;
    co_return;
  }

  std::string held;  // why the branch cannot be moved

  void require_there() const {
    if (!broken.empty()) throw Error(Errc::canvas_failed, broken);
  }

  std::string tip = "base";
  std::string broken;  // why nothing can be read or written
  std::string conflict;
  std::string merged_tree;  // if it is not what was merged with what the tip has
  std::map<std::string, std::string> commits;
  int committed = 0;
  int merges = 0;
  int forgotten = 0;
  int kept = 0;
};

class CountedTool final : public Tool {
 public:
  explicit CountedTool(std::string name, ToolTraits what = ToolTraits()) : traits_(what) {
    offer_.name = std::move(name);
    offer_.about = "for tests";
    offer_.schema = "{}";
  }
  const ToolOffer& offer() const noexcept override { return offer_; }
  const ToolTraits& traits() const noexcept override { return traits_; }
  std::string mistake_in(std::string_view arguments) const override {
    return arguments == "{\"bad\":1}" ? "bad is not known." : "";
  }
  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    co_await sleep(std::chrono::milliseconds(5));
    if (CrashTest::alive()) ++runs;
    ToolAnswer answer("did " + arguments);
    answer.canvas = where.canvas;
    if (writes) answer.canvas.tree += "+" + offer_.name;
    if (!says.empty()) answer.text = says;
    if (!throws.empty()) throw Error(Errc::io_failed, throws);
    co_return answer;
  }
  bool writes = false;
  std::string says;
  std::string throws;
  int runs = 0;

 private:
  ToolOffer offer_;
  ToolTraits traits_;
};

class AgentWorld {
 public:
  AgentWorld() : services(model, repositories), test([this] { return types(); }) {
    write->writes = true;
    services.tools.add(read);
    services.tools.add(write);
    services.tools.add(once);
  }
  Registry types() {
    Registry all;
    add_agent(all, services);
    return all;
  }
  static ToolTraits at_most_once() {
    ToolTraits traits;
    traits.effect = StepEffect::at_most_once;
    return traits;
  }
  static Instruction change_something() {
    Instruction ask;
    ask.instruction = "Change something.";
    ask.repository = "there";
    return ask;
  }
  static Task<AgentView> until(Host* host, Uuid id, std::string state) {
    AgentView view;
    for (int i = 0; i < 100'000; ++i) {
      view = co_await host->ask(id, kAgentView);
      if (view.state == state) break;
      co_await sleep(std::chrono::milliseconds(1));
    }
    co_return view;
  }
  static Task<bool> answer(Host* host, Question question, Verdict verdict,
                           std::string comment = {}) {
    Answer said;
    said.digest = question.digest;
    said.verdict = verdict;
    said.who = "ann";
    said.comment = std::move(comment);
    const Uuid promise = Uuid::parse(question.promise).value_or(Uuid());
    co_return co_await host->complete_json(promise, to_json(said), true);
  }

  ListedModel model;
  CountedRepositories repositories;
  std::shared_ptr<CountedTool> read = std::make_shared<CountedTool>("read");
  std::shared_ptr<CountedTool> write = std::make_shared<CountedTool>("write");
  std::shared_ptr<CountedTool> once = std::make_shared<CountedTool>("once", at_most_once());
  AgentServices services;
  CrashTest test;
};

}  // namespace tiffany::agent

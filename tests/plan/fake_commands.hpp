// Commands without processes: what they are is a script, and they live on when the process of a
// CrashTest dies, as real ones do.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/durable/crash_test.hpp"
#include "tiffany/exec/commands.hpp"
#include "tiffany/tiffany.hpp"

namespace tiffany {

// How a command ends, and what it hands on.
struct FakeEnd {
  int code = 0;
  bool unknown = false;
  bool silent = false;  // without a sentence
  std::chrono::milliseconds takes{10};
  std::string outputs{};
  // Thrown by run() in the place of an end, so often; command_failed: before the command begins.
  std::optional<Errc> refused{};
  int refusals = 1'000'000;
};

class FakeCommands final : public exec::CommandRunner {
 public:
  // By the last word; those without an entry succeed. More than one: for each attempt in turn.
  std::map<std::string, std::vector<FakeEnd>> script;
  std::vector<std::string> begun;    // the last words, in their order
  std::vector<std::string> stopped;  // likewise
  std::map<Uuid, exec::CommandSpec> specs;
  int running = 0;
  int most_running = 0;
  int broken_stops = 0;  // so many calls of stop() fail

  void clear() {
    begun.clear();
    stopped.clear();
    specs.clear();
    ends_.clear();
    stops_.clear();
    how_.clear();
    outputs_.clear();
    uses_.clear();
    most_running = 0;
  }

  Task<exec::CommandResult> run(Uuid id, exec::CommandSpec spec) override {
    const std::string name = spec.argv.back();
    if (specs.count(id) == 0 && CrashTest::alive()) {
      specs[id] = spec;
      begun.push_back(name);
      const std::vector<FakeEnd>& all = script[name];
      const std::size_t use = uses_[name]++;
      how_[id] = all.empty() ? FakeEnd() : all[std::min(use, all.size() - 1)];
    }
    if (how_[id].refused && how_[id].refusals-- > 0) {
      throw Error(*how_[id].refused, "The disk has a scratch.");
    }
    const FakeEnd how = how_[id];
    const Running counted(*this);
    for (auto left = how.takes; left.count() > 0 && stops_.count(id) == 0;
         left -= std::chrono::milliseconds(10)) {
      co_await sleep(std::chrono::milliseconds(10));
    }
    if (!CrashTest::alive()) co_return exec::CommandResult();
    if (ends_.count(id) == 0) ends_[id] = result_of(id, how);
    co_return ends_[id];
  }
  Task<void> stop(Uuid id) override {
    if (broken_stops > 0 && CrashTest::alive()) {
      --broken_stops;
      throw Error(Errc::command_failed, "There is no room for a process.");
    }
    if (CrashTest::alive() && stops_.insert({id, true}).second) {
      stopped.push_back(specs[id].argv.empty() ? "never begun" : specs[id].argv.back());
    }
    co_return;
  }
  Task<std::string> read(Uuid id, exec::CommandFile /*which*/, std::size_t /*most*/) override {
    co_return outputs_[id];
  }
  std::optional<exec::CommandResult> end_of(const Uuid& id) const override {
    const auto found = ends_.find(id);
    return found == ends_.end() ? std::nullopt : std::optional(found->second);
  }
  Task<void> forget_older(Uuid id, std::uint64_t round) override {
    if (CrashTest::alive() && ends_.count(id) != 0 && specs[id].round < round) {
      specs.erase(id);
      ends_.erase(id);
      stops_.erase(id);
      how_.erase(id);
      outputs_.erase(id);
    }
    co_return;
  }
  std::string path(const Uuid& id, exec::CommandFile /*which*/) const override {
    return "/commands/" + id.text();
  }

 private:
  struct Running {
    explicit Running(FakeCommands& all) : of(all) {
      of.most_running = std::max(of.most_running, ++of.running);
    }
    ~Running() { --of.running; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;
    FakeCommands& of;
  };
  exec::CommandResult result_of(const Uuid& id, const FakeEnd& how) {
    exec::CommandResult result;
    result.end = exec::CommandEnd::exited;
    result.code = how.code;
    if (stops_.count(id) != 0) {
      result.end = exec::CommandEnd::stopped;
      result.why = "The command was stopped.";
    } else if (how.unknown) {
      result.end = exec::CommandEnd::unknown;
      if (!how.silent) result.why = "Nobody knows.";
    } else {
      outputs_[id] = how.outputs;
    }
    return result;
  }
  std::map<Uuid, exec::CommandResult> ends_;
  std::map<Uuid, bool> stops_;
  std::map<Uuid, FakeEnd> how_;
  std::map<Uuid, std::string> outputs_;
  std::map<std::string, std::size_t> uses_;
};

}  // namespace tiffany

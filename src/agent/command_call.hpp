// A supervised command in a checkout of the canvas: what tools that are programs have in common.
#pragma once

#include <string>
#include <vector>

#include "tiffany/agent/command_tool.hpp"

namespace tiffany::agent {

// How a command ended, and what it left.
struct CommandCalled {
  exec::CommandResult end{};
  std::string out{};
  std::string errors{};
  CanvasState canvas{};
  bool no_sandbox = false;  // this machine cannot give the level: nothing was begun
  std::string not_taken{};  // why its changes to the files are not in the canvas; empty: they are
};

class CommandCall {
 public:
  // Of the manifest everything but the words counts. `workshop` outlives the call.
  CommandCall(Manifest manifest, Workshop& workshop)
      : manifest_(std::move(manifest)), workshop_(workshop) {}
  const Manifest& manifest() const noexcept { return manifest_; }

  // The same context again attaches to the command, or takes its end.
  Task<CommandCalled> run(ToolContext where, std::vector<std::string> words);
  Task<void> stop(ToolContext where);

 private:
  static constexpr int kMostTries = 4;
  static Uuid id_of(const ToolContext& where, int number);
  static bool has_files(const ToolContext& where) noexcept { return !where.repository.empty(); }
  std::string mark_of(const ToolContext& where, const Uuid& id) const;
  std::string files_of(const ToolContext& where) const;
  bool takes_back() const;
  Task<exec::CommandResult> run_one(Uuid id, const ToolContext& where,
                                    const std::vector<std::string>& words);
  Task<void> prepare(Uuid id, const ToolContext& where);
  Task<CanvasState> taken(const ToolContext& where);

  Manifest manifest_;
  Workshop& workshop_;
};

// A tool that is a program: it has the words of a call made of the arguments.
class ProgramTool : public Tool {
 public:
  ProgramTool(Manifest manifest, Workshop& workshop);
  const ToolOffer& offer() const noexcept override { return offer_; }
  const ToolTraits& traits() const noexcept override { return traits_; }
  Task<void> stop(ToolContext where) override { co_await call_.stop(std::move(where)); }

 protected:
  const Manifest& manifest() const noexcept { return call_.manifest(); }
  Task<CommandCalled> call(ToolContext where, std::vector<std::string> words) {
    return call_.run(std::move(where), std::move(words));
  }
  // The whole answer of a program that prints it.
  Task<ToolAnswer> run_words(ToolContext where, std::vector<std::string> words);

 private:
  CommandCall call_;
  ToolOffer offer_;
  ToolTraits traits_;
};

// For the model: what the command printed, and how it ended when it did not end by itself.
std::string text_of_command(const CommandCalled& called);

}  // namespace tiffany::agent

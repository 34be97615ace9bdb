#include "agent/command_call.hpp"

#include <algorithm>
#include <utility>

#include "tiffany/agent/canvas.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/file.hpp"
#include "tiffany/io/io_error.hpp"
#include "tiffany/io/offload.hpp"
#include "tiffany/io/process.hpp"

namespace tiffany::agent {
namespace {

bool is_a_file(const std::string& path) {
  return World::current().files().access(path.c_str(), 0) == 0;
}

void make_one_directory(const std::string& path) {
  if (World::current().files().make_directory(path.c_str()) != 0 && errno != EEXIST) {
    throw_io_error("make the directory", path);
  }
}

Task<void> remove_whole(std::string path) {
  const ProcessOutput done =
      co_await run_command(Command("rm").arg("-rf").arg("--").arg(std::move(path)));
  if (!done.status.ok()) {
    throw Error(Errc::io_failed, "The files of a tool cannot be removed: " + done.errors);
  }
}

void checkout_there(std::string repository, CanvasState canvas, std::string directory) {
  Canvas::reopen(repository, canvas).checkout(directory);
}

CanvasState take_back_there(std::string repository, CanvasState canvas, std::string directory,
                            std::string task) {
  Canvas taken = Canvas::reopen(repository, canvas);
  taken.take_back(directory);
  return taken.keep(task);
}

// What a command printed, for the model.
std::string printed(std::string out, const std::string& errors) {
  if (errors.empty()) return out;
  if (!out.empty() && out.back() != '\n') out += '\n';
  return out + "[standard error]\n" + errors;
}

}  // namespace

Uuid CommandCall::id_of(const ToolContext& where, int number) {
  return Uuid::derived(where.task, "tool " + where.key + " " + std::to_string(where.round) + " " +
                                       std::to_string(number));
}
std::string CommandCall::mark_of(const ToolContext& where, const Uuid& id) const {
  return workshop_.place_of(where.task) + "/ready-" + id.text();
}
std::string CommandCall::files_of(const ToolContext& where) const {
  return workshop_.place_of(where.task) + "/files";
}
bool CommandCall::takes_back() const {
  return std::find(manifest_.writes.begin(), manifest_.writes.end(), ".") != manifest_.writes.end();
}

Task<void> CommandCall::stop(ToolContext where) {
  for (int number = 1; number <= kMostTries; ++number) {
    const Uuid id = id_of(where, number);
    if (is_a_file(mark_of(where, id))) co_await workshop_.commands.stop(id);
  }
}

Task<CommandCalled> CommandCall::run(ToolContext where, std::vector<std::string> words) {
  CommandCalled called;
  called.canvas = where.canvas;
  for (int number = 1; number <= kMostTries; ++number) {
    const Uuid id = id_of(where, number);
    try {
      called.end = co_await run_one(id, where, words);
    } catch (const Error& error) {  // it is the same machine at the next attempt
      if (error.code() != Errc::sandbox_missing) throw;
      called.no_sandbox = true;
      called.end.end = exec::CommandEnd::not_started;
      called.end.why = error.what();
    }
    if (called.no_sandbox) break;
    const bool unknown = called.end.end == exec::CommandEnd::unknown;
    if (unknown && manifest_.effect != ToolEffect::at_most_once) continue;
    const std::size_t most = manifest_.limits.output_bytes;
    called.out = co_await workshop_.commands.read(id, exec::CommandFile::out, most);
    called.errors = co_await workshop_.commands.read(id, exec::CommandFile::err, most);
    if (takes_back() && called.end.end != exec::CommandEnd::not_started && has_files(where)) {
      try {
        called.canvas = co_await taken(where);
      } catch (const Error& error) {  // what it left there is nothing that a tree can have
        if (error.code() != Errc::bad_argument) throw;
        called.not_taken = error.what();
      }
    }
    break;
  }
  co_return called;
}

Task<exec::CommandResult> CommandCall::run_one(Uuid id, const ToolContext& where,
                                               const std::vector<std::string>& words) {
  co_await prepare(id, where);
  exec::CommandSpec spec = command_of(manifest_, words, files_of(where));
  spec.owner = where.task.text();
  for (const exec::Secret& each : workshop_.secrets) {
    const auto& names = manifest_.secrets;
    if (std::find(names.begin(), names.end(), each.name) != names.end()) {
      spec.secrets.push_back(each);
    }
  }
  co_return co_await workshop_.commands.run(id, std::move(spec));
}

// One checkout for the task, made anew for each call. The mark says that it is whole: from then on
// the command may be at work in it, also when this program is not.
Task<void> CommandCall::prepare(Uuid id, const ToolContext& where) {
  const std::string place = workshop_.place_of(where.task);
  const std::string mark = mark_of(where, id);
  if (is_a_file(mark)) co_return;
  co_await remove_whole(place);
  make_one_directory(workshop_.directory);
  make_one_directory(place);
  if (has_files(where)) {
    const CanvasState canvas = where.canvas;
    co_await offload(checkout_there, where.repository, canvas, files_of(where));
  } else {
    make_one_directory(files_of(where));
  }
  const File made = co_await open_file(mark, FileMode::create);
}

Task<CanvasState> CommandCall::taken(const ToolContext& where) {
  const CanvasState canvas = where.canvas;
  co_return co_await offload(take_back_there, where.repository, canvas, files_of(where),
                             where.task.text());
}

std::string text_of_command(const CommandCalled& called) {
  std::string text = printed(called.out, called.errors);
  if (called.end.end != exec::CommandEnd::exited) text = called.end.text() + "\n" + text;
  if (called.end.end == exec::CommandEnd::unknown) {
    text = "Nobody knows how far this command came, and it is not run again: " + text;
  }
  if (!called.not_taken.empty()) {
    if (!text.empty() && text.back() != '\n') text += '\n';
    text += "[none of its changes to the files is kept] " + called.not_taken + "\n";
  }
  return text;
}

ProgramTool::ProgramTool(Manifest manifest, Workshop& workshop)
    : call_(std::move(manifest), workshop),
      offer_(offer_of(call_.manifest())),
      traits_(traits_of(call_.manifest())) {
  traits_.effect = StepEffect::idempotent;  // a call that is made again attaches to its command
}

Task<ToolAnswer> ProgramTool::run_words(ToolContext where, std::vector<std::string> words) {
  CommandCalled called = co_await call_.run(std::move(where), std::move(words));
  ToolAnswer answer(text_of_command(called));
  answer.level = called.end.sandbox_level;
  answer.exit = called.end.code;
  answer.failed = !called.end.ok() || !called.not_taken.empty();
  answer.canvas = std::move(called.canvas);
  co_return answer;
}

Task<void> Workshop::forget(Uuid task) const { co_await remove_whole(place_of(task)); }

}  // namespace tiffany::agent

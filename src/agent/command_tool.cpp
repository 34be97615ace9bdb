#include "tiffany/agent/command_tool.hpp"

#include <algorithm>
#include <utility>

#include "tiffany/agent/canvas.hpp"
#include "tiffany/agent/schema.hpp"
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

class CommandTool final : public Tool {
 public:
  CommandTool(Manifest manifest, Workshop& workshop)
      : manifest_(std::move(manifest)),
        workshop_(workshop),
        offer_(offer_of(manifest_)),
        traits_(traits_of(manifest_)) {
    traits_.effect = StepEffect::idempotent;  // a call that is made again attaches to its command
  }
  const ToolOffer& offer() const noexcept override { return offer_; }
  const ToolTraits& traits() const noexcept override { return traits_; }
  std::string mistake_in(std::string_view arguments) const override {
    try {
      static_cast<void>(words_for(manifest_, arguments));
    } catch (const Error& error) {
      if (error.code() != Errc::bad_tool) throw;
      return error.what();
    }
    return "";
  }

  Task<void> stop(ToolContext where) override {
    for (int number = 1; number <= kMostTries; ++number) {
      const Uuid id = id_of(where, number);
      if (is_a_file(mark_of(where, id))) co_await workshop_.commands.stop(id);
    }
  }
  Task<ToolAnswer> run(ToolContext where, std::string arguments) override {
    ToolAnswer answer;
    for (int number = 1; number <= kMostTries; ++number) {
      const Uuid id = id_of(where, number);
      const exec::CommandResult end = co_await run_one(id, where, arguments);
      answer.level = end.sandbox_level;
      answer.exit = end.code;
      answer.failed = !end.ok();
      answer.canvas = where.canvas;
      if (end.end == exec::CommandEnd::unknown && manifest_.effect != ToolEffect::at_most_once) {
        answer.text = end.text();
        continue;
      }
      answer.text = co_await told(id, end);
      if (takes_back() && end.end != exec::CommandEnd::not_started && has_files(where)) {
        answer.canvas = co_await taken(where);
      }
      break;
    }
    co_return answer;
  }

 private:
  static constexpr int kMostTries = 4;
  static Uuid id_of(const ToolContext& where, int number) {
    return Uuid::derived(where.task, "tool " + where.key + " " + std::to_string(where.round) + " " +
                                         std::to_string(number));
  }
  std::string mark_of(const ToolContext& where, const Uuid& id) const {
    return workshop_.place_of(where.task) + "/ready-" + id.text();
  }
  static bool has_files(const ToolContext& where) noexcept { return !where.repository.empty(); }
  bool takes_back() const {
    return std::find(manifest_.writes.begin(), manifest_.writes.end(), ".") !=
           manifest_.writes.end();
  }
  std::string files_of(const ToolContext& where) const {
    return workshop_.place_of(where.task) + "/files";
  }

  Task<exec::CommandResult> run_one(Uuid id, const ToolContext& where,
                                    const std::string& arguments) {
    co_await prepare(id, where);
    exec::CommandSpec spec = command_for(manifest_, arguments, files_of(where));
    spec.owner = where.task.text();
    for (const exec::Secret& each : workshop_.secrets) {
      const auto& names = manifest_.secrets;
      if (std::find(names.begin(), names.end(), each.name) != names.end()) {
        spec.secrets.push_back(each);
      }
    }
    co_return co_await workshop_.commands.run(id, std::move(spec));
  }

  // One checkout for the task, made anew for each call. The mark says that it is whole: from then
  // on the command may be at work in it, also when this program is not.
  Task<void> prepare(Uuid id, const ToolContext& where) {
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

  Task<CanvasState> taken(const ToolContext& where) {
    const CanvasState canvas = where.canvas;
    co_return co_await offload(take_back_there, where.repository, canvas, files_of(where),
                               where.task.text());
  }

  Task<std::string> told(Uuid id, const exec::CommandResult& end) {
    const std::size_t most = manifest_.limits.output_bytes;
    std::string out = co_await workshop_.commands.read(id, exec::CommandFile::out, most);
    const std::string errors = co_await workshop_.commands.read(id, exec::CommandFile::err, most);
    std::string text = printed(std::move(out), errors);
    if (end.end != exec::CommandEnd::exited) text = end.text() + "\n" + text;
    if (end.end == exec::CommandEnd::unknown) {
      text = "Nobody knows how far this command came, and it is not run again: " + text;
    }
    co_return text;
  }

  Manifest manifest_;
  Workshop& workshop_;
  ToolOffer offer_;
  ToolTraits traits_;
};

}  // namespace

Task<void> Workshop::forget(Uuid task) const { co_await remove_whole(place_of(task)); }

void add_command_tool(ToolSet& tools, Manifest manifest, Workshop& workshop) {
  check_manifest(manifest);
  for (const std::string& name : manifest.secrets) {
    const bool known = std::any_of(workshop.secrets.begin(), workshop.secrets.end(),
                                   [&](const exec::Secret& each) { return each.name == name; });
    if (known) continue;
    throw Error(Errc::bad_tool, "The tool \"" + manifest.name + "\" needs the secret \"" + name +
                                    "\", which nobody has named a source for.");
  }
  tools.add(std::make_shared<CommandTool>(std::move(manifest), workshop));
}

}  // namespace tiffany::agent

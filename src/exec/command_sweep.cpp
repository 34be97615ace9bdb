// Commands that nobody needs any more: which these are, and how they go.
#include <string>
#include <utility>
#include <vector>

#include "exec/command_files.hpp"
#include "tiffany/core/sleep.hpp"
#include "tiffany/exec/commands.hpp"
#include "tiffany/io/directory.hpp"

namespace tiffany::exec {
namespace {

// None: nobody has said whose it is.
std::optional<Uuid> owner_of(const std::string& at) {
  const auto spec = record_in<CommandSpec>(at + "/spec.json");
  return spec && spec->owner ? Uuid::parse(*spec->owner) : std::optional<Uuid>();
}

bool is_unneeded(const std::string& at, const Commands::Needed& needed) {
  const bool ended = exists(at + "/exit.json");
  if (has_begun(at) && !ended) return false;  // it runs, or its task settles it
  const std::optional<Uuid> owner = owner_of(at);
  if (!owner) return false;
  const auto end = record_in<CommandResult>(at + "/exit.json");
  return !needed(*owner, end ? end->ended_us : 0);
}

// One that cannot be removed does not keep the others.
struct Removal {
  std::size_t done = 0;
  std::size_t failed = 0;
  std::string problem{};

  void fail(const Error& error) {
    ++failed;
    if (problem.empty()) problem = error.what();
  }
  std::size_t count() const {
    if (failed == 0) return done;
    throw Error(
        Errc::command_failed,
        std::to_string(failed) + " of " + std::to_string(failed + done) +
            " commands that nobody needs any more could not be removed or stopped. The first: " +
            problem);
  }
};

}  // namespace

// What has neither begun nor ended by itself is ended first, so that nothing of it goes on.
Task<void> Commands::end_and_forget(Uuid id) {
  const std::string at = directory_ + "/" + id.text();
  if (has_begun(at) && !exists(at + "/exit.json")) {
    const auto spec = record_in<CommandSpec>(at + "/spec.json");
    co_await stop(id);
    if (spec) static_cast<void>(co_await run(id, *spec));
  }
  co_await forget(id);
}

Task<std::vector<Uuid>> Commands::all() const {
  std::vector<Uuid> ids;
  if (!exists(directory_)) co_return ids;
  const std::vector<DirectoryEntry> entries = co_await list_directory(directory_);
  for (const DirectoryEntry& entry : entries) {
    if (const std::optional<Uuid> id = Uuid::parse(entry.name())) ids.push_back(*id);
  }
  co_return ids;
}

Task<std::size_t> Commands::sweep(std::set<Uuid> keep) {
  Removal removal;
  const std::vector<Uuid> ids = co_await all();
  for (const Uuid& id : ids) {
    if (keep.count(id) != 0) continue;
    try {
      co_await end_and_forget(id);
      ++removal.done;
    } catch (const Error& error) {
      removal.fail(error);
    }
  }
  co_return removal.count();
}

Task<std::size_t> Commands::forget_unneeded(Needed needed) {
  Removal removal;
  const std::vector<Uuid> ids = co_await all();
  for (const Uuid& id : ids) {
    co_await yield();  // there may be very many
    try {
      if (!is_unneeded(directory_ + "/" + id.text(), needed)) continue;
      co_await forget(id);
      ++removal.done;
    } catch (const Error& error) {
      removal.fail(error);
    }
  }
  co_return removal.count();
}

Task<std::size_t> Commands::stop_those_of(Ended ended) {
  Removal removal;
  const std::vector<Uuid> ids = co_await all();
  for (const Uuid& id : ids) {
    co_await yield();  // there may be very many
    const std::string at = directory_ + "/" + id.text();
    if (exists(at + "/exit.json")) continue;
    try {
      const std::optional<Uuid> owner = owner_of(at);
      if (!owner || !ended(*owner)) continue;
      if (!has_begun(at) && exists(at + "/stop")) continue;  // and never will
      co_await stop(id);
      ++removal.done;
    } catch (const Error& error) {
      removal.fail(error);
    }
  }
  co_return removal.count();
}

}  // namespace tiffany::exec

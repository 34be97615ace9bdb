#include "tiffany/agent/repositories.hpp"

#include <optional>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/io/offload.hpp"

namespace tiffany::agent {
namespace {

CanvasState git_open(std::string repository, std::string base, std::string task) {
  return Canvas::open(repository, base).keep(task);
}

CanvasState git_keep(std::string repository, CanvasState canvas, std::string task) {
  return Canvas::reopen(repository, canvas).keep(task);
}

std::string git_diff(std::string repository, CanvasState canvas) {
  return Canvas::reopen(repository, canvas).diff().text;
}

std::string git_commit(CommitRequest request) { return commit_on(request); }

MergedCanvas git_merge_onto_tip(std::string repository, CanvasState canvas, std::string ref,
                                std::string task) {
  const std::optional<std::string> tip = tip_of(repository, ref);
  if (!tip) {
    throw Error(Errc::canvas_conflict,
                "The branch " + ref + " of " + repository + " is gone, and cannot be merged with.");
  }
  Canvas merged = Canvas::reopen(repository, canvas);
  Merge merge = merged.merge_onto(*tip);
  MergedCanvas result;
  result.canvas = merge.clean() ? merged.keep(task) : std::move(canvas);
  for (const MergeConflict& each : merge.conflicts) {
    result.conflicts.push_back(each.path + ":\n" + each.text);
  }
  return result;
}

void git_forget(std::string repository, std::string task) { Canvas::forget(repository, task); }

}  // namespace

Task<CanvasState> GitRepositories::open(std::string repository, std::string base,
                                        std::string task) {
  co_return co_await offload(git_open, std::move(repository), std::move(base), std::move(task));
}
Task<CanvasState> GitRepositories::keep(std::string repository, CanvasState canvas,
                                        std::string task) {
  co_return co_await offload(git_keep, std::move(repository), moved(canvas), std::move(task));
}
Task<std::string> GitRepositories::diff(std::string repository, CanvasState canvas) {
  co_return co_await offload(git_diff, std::move(repository), moved(canvas));
}
Task<std::string> GitRepositories::commit(CommitRequest request) {
  co_return co_await offload(git_commit, std::move(request));
}
Task<MergedCanvas> GitRepositories::merge(std::string repository, CanvasState canvas,
                                          std::string ref, std::string task) {
  co_return co_await offload(git_merge_onto_tip, std::move(repository), moved(canvas),
                             std::move(ref), std::move(task));
}
Task<void> GitRepositories::forget(std::string repository, std::string task) {
  co_await offload(git_forget, std::move(repository), std::move(task));
}

}  // namespace tiffany::agent

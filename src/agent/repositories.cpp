#include "tiffany/agent/repositories.hpp"

#include <optional>
#include <utility>

#include "base/shown_text.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/io/offload.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kMostConflictsTold = 100;

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
  const Merge merge = merged.merge_onto(*tip);
  MergedCanvas result;
  result.canvas = merged.keep(task);
  result.base_tree = Canvas::open(repository, *tip).tree();
  result.marked = true;
  for (const MergeConflict& each : merge.conflicts) {
    if (result.conflicts.size() == kMostConflictsTold) {
      result.conflicts.push_back("and " +
                                 std::to_string(merge.conflicts.size() - kMostConflictsTold) +
                                 " more: git_status lists the files.");
      break;
    }
    result.conflicts.push_back(detail::shown(each.path) + ": " + each.text);
  }
  return result;
}

std::vector<std::string> git_unresolved(std::string repository, CanvasState canvas) {
  std::vector<std::string> all = Canvas::reopen(repository, canvas).unresolved();
  if (all.size() > kMostConflictsTold) all.resize(kMostConflictsTold);
  for (std::string& each : all) each = detail::shown(each);
  return all;
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
Task<std::vector<std::string>> GitRepositories::unresolved(std::string repository,
                                                           CanvasState canvas) {
  co_return co_await offload(git_unresolved, std::move(repository), moved(canvas));
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

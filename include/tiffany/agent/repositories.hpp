// What an agent does to repositories, so that a test can stand in for them. Each call may be made
// again after a crash, and gives the same then.
#pragma once

#include <string>
#include <vector>

#include "tiffany/agent/canvas.hpp"
#include "tiffany/agent/commit.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/engine/task.hpp"

namespace tiffany::agent {

// Another program has locked what was to be written (Errc::canvas_failed): trying again may help.
class RepositoryBusy : public Error {
 public:
  using Error::Error;
};

struct MergedCanvas {
  CanvasState canvas{};
  std::vector<std::string> conflicts{};  // a text for each file
  // The conflicts stand in the files of the canvas. False: a log of before, when they were text
  // alone and the canvas stayed as it was.
  bool marked = false;
  std::string base_tree{};  // of the new base
};
TIFFANY_JSON(MergedCanvas, canvas, conflicts, marked, base_tree);
TIFFANY_JSON_ADDED(MergedCanvas, marked, base_tree);

class Repositories {
 public:
  virtual ~Repositories() = default;
  // A canvas over what `base` names, kept for the task. Cancel: it may be there.
  virtual Task<CanvasState> open(std::string repository, std::string base, std::string task) = 0;
  // A canvas of another task, kept for this one, too.
  virtual Task<CanvasState> keep(std::string repository, CanvasState canvas, std::string task) = 0;
  // The patch as text, cut when it is long.
  virtual Task<std::string> diff(std::string repository, CanvasState canvas) = 0;
  // Canvas::unresolved(), at most 100 of them.
  virtual Task<std::vector<std::string>> unresolved(std::string repository, CanvasState canvas) = 0;
  // agent/commit.hpp: moves the ref, and gives the id. Cancel: the ref has moved, or not.
  virtual Task<std::string> commit(CommitRequest request) = 0;
  // The changes on what the ref has become; conflicts stand in the files (Canvas::merge_onto).
  virtual Task<MergedCanvas> merge(std::string repository, CanvasState canvas, std::string ref,
                                   std::string task) = 0;
  // What was kept for the task is not needed any more.
  virtual Task<void> forget(std::string repository, std::string task) = 0;
};

// Those of git, on threads (io/offload.hpp).
class GitRepositories final : public Repositories {
 public:
  Task<CanvasState> open(std::string repository, std::string base, std::string task) override;
  Task<CanvasState> keep(std::string repository, CanvasState canvas, std::string task) override;
  Task<std::string> diff(std::string repository, CanvasState canvas) override;
  Task<std::vector<std::string>> unresolved(std::string repository, CanvasState canvas) override;
  Task<std::string> commit(CommitRequest request) override;
  Task<MergedCanvas> merge(std::string repository, CanvasState canvas, std::string ref,
                           std::string task) override;
  Task<void> forget(std::string repository, std::string task) override;
};

}  // namespace tiffany::agent

// The changes of a canvas on top of what a branch has become.
#include <cstddef>
#include <string>
#include <utility>

#include "agent/canvas_state.hpp"
#include "agent/git.hpp"
#include "tiffany/agent/canvas.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kMostConflictText = std::size_t{64} << 10;

std::string conflict_text(git_repository* repository, const git_index_entry* base,
                          const git_index_entry* branch, const git_index_entry* canvas) {
  if (branch == nullptr) return "The branch has removed this file, and the canvas has changed it.";
  if (canvas == nullptr) return "The canvas has removed this file, and the branch has changed it.";
  git_merge_file_options options{};
  git_merge_file_options_init(&options, GIT_MERGE_FILE_OPTIONS_VERSION);
  options.our_label = "branch";
  options.their_label = "canvas";
  git_merge_file_result merged{};
  if (git_merge_file_from_index(&merged, repository, base, branch, canvas, &options) < 0) {
    return "Both have changed this file, and it cannot be merged as text.";
  }
  std::string text(merged.ptr == nullptr ? "" : merged.ptr, merged.ptr == nullptr ? 0 : merged.len);
  git_merge_file_result_free(&merged);
  if (is_binary(text)) return "Both have changed this file, which is binary.";
  if (text.size() > kMostConflictText) {
    text.resize(text.rfind('\n', kMostConflictText) + 1);
    text += "... cut here: the file is longer.\n";
  }
  return text;
}

}  // namespace

Merge Canvas::merge_onto(const std::string& tip) {
  git_repository* const repository = state_->repository.get();
  const git::Tree base = state_->base_tree();
  const git::Tree branch = git::tree_of_commit(repository, tip);
  const git::Tree canvas = git::tree_of(repository, state_->write_tree());
  git_merge_options options{};
  git_merge_options_init(&options, GIT_MERGE_OPTIONS_VERSION);
  git_index* made = nullptr;
  git::check(git_merge_trees(&made, repository, base.get(), branch.get(), canvas.get(), &options),
             [&] { return "The canvas cannot be merged with " + tip; });
  const git::Index merged(made);

  Merge merge;
  if (git_index_has_conflicts(made) == 1) {
    git_index_conflict_iterator* iterator = nullptr;
    git::check(git_index_conflict_iterator_new(&iterator, made), "Conflicts cannot be listed");
    const git::Conflicts owned(iterator);
    const git_index_entry* from = nullptr;
    const git_index_entry* ours = nullptr;
    const git_index_entry* theirs = nullptr;
    while (git_index_conflict_next(&from, &ours, &theirs, iterator) == 0) {
      const git_index_entry* named = ours != nullptr ? ours : theirs != nullptr ? theirs : from;
      merge.conflicts.push_back({named->path, conflict_text(repository, from, ours, theirs)});
    }
    return merge;
  }
  git_oid id{};
  git::check(git_index_write_tree_to(&id, made, repository), "The merged tree cannot be written");
  state_->load(git::text_of(id));
  state_->base = tip;
  return merge;
}

}  // namespace tiffany::agent

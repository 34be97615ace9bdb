// What a canvas changes, for people and for models.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "agent/canvas_path.hpp"
#include "agent/canvas_state.hpp"
#include "agent/git.hpp"
#include "tiffany/agent/canvas.hpp"

namespace tiffany::agent {
namespace {

git::Diff diff_of(git_repository* repository, git_tree* base, git_index* index,
                  std::size_t most_bytes, std::string path) {
  // Everything that the configuration of a user could change is said here.
  git_diff_options options{};
  git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
  options.flags = GIT_DIFF_NORMAL;
  options.context_lines = 3;
  options.interhunk_lines = 0;
  options.old_prefix = "a";
  options.new_prefix = "b";
  options.max_size = static_cast<git_off_t>(most_bytes);
  char* only = path.data();
  if (!path.empty()) {
    options.flags |= GIT_DIFF_DISABLE_PATHSPEC_MATCH;  // a path, and no pattern
    options.pathspec = {&only, 1};
  }
  git_diff* made = nullptr;
  git::check(git_diff_tree_to_index(&made, repository, base, index, &options),
             "The changes of the canvas cannot be found");
  git::Diff diff(made);
  git_diff_find_options find{};
  git_diff_find_options_init(&find, GIT_DIFF_FIND_OPTIONS_VERSION);
  find.flags = GIT_DIFF_FIND_RENAMES;
  find.rename_threshold = 50;
  find.rename_limit = 400;
  git::check(git_diff_find_similar(made, &find), "Renamed files of the canvas cannot be found");
  return diff;
}

struct DiffText {
  std::string text;
  std::size_t most = 0;
  bool cut = false;
};
int add_line(const git_diff_delta*, const git_diff_hunk*, const git_diff_line* line,
             void* payload) {
  DiffText& out = *static_cast<DiffText*>(payload);
  const bool marked = line->origin == GIT_DIFF_LINE_CONTEXT ||
                      line->origin == GIT_DIFF_LINE_ADDITION ||
                      line->origin == GIT_DIFF_LINE_DELETION;
  if (out.text.size() + line->content_len + 1 > out.most) {
    out.cut = true;
    return GIT_EUSER;
  }
  if (marked) out.text += line->origin;
  out.text.append(line->content, line->content_len);
  return 0;
}

FileChange change_of(git_delta_t status) {
  switch (status) {
    case GIT_DELTA_ADDED:
    case GIT_DELTA_COPIED:
      return FileChange::added;
    case GIT_DELTA_DELETED:
      return FileChange::removed;
    case GIT_DELTA_RENAMED:
      return FileChange::renamed;
    default:
      return FileChange::changed;
  }
}

}  // namespace

std::string_view name_of(FileChange change) noexcept {
  constexpr std::string_view kNames[] = {"added", "changed", "removed", "renamed"};
  return kNames[static_cast<std::size_t>(change)];
}

CanvasDiff Canvas::diff(const std::string& path) const {
  if (!path.empty()) check_canvas_path(path);
  const git::Tree base = state_->base_tree();
  const git::Diff diff = diff_of(state_->repository.get(), base.get(), state_->index.get(),
                                 state_->limits.file_bytes, path);
  DiffText out;
  out.most = state_->limits.diff_bytes;
  const int code = git_diff_print(diff.get(), GIT_DIFF_FORMAT_PATCH, add_line, &out);
  if (!out.cut) git::check(code, "The changes of the canvas cannot be written as text");
  if (out.cut) {
    if (!out.text.empty() && !out.text.ends_with('\n')) out.text += '\n';
    out.text += "... the diff is cut here: it has more than " + std::to_string(out.most) +
                " bytes. Read the files for the rest.\n";
  }
  return {std::move(out.text), out.cut};
}

std::vector<ChangedFile> Canvas::files() const {
  const git::Tree base = state_->base_tree();
  const git::Diff diff = diff_of(state_->repository.get(), base.get(), state_->index.get(),
                                 state_->limits.file_bytes, "");
  std::vector<ChangedFile> files;
  for (std::size_t i = 0; i < git_diff_num_deltas(diff.get()); ++i) {
    const git_diff_delta& delta = *git_diff_get_delta(diff.get(), i);
    ChangedFile file;
    file.change = change_of(delta.status);
    file.path = file.change == FileChange::removed ? delta.old_file.path : delta.new_file.path;
    if (file.change == FileChange::renamed) file.old_path = delta.old_file.path;
    file.mode_changed = delta.old_file.mode != delta.new_file.mode &&
                        file.change != FileChange::added && file.change != FileChange::removed;
    git_patch* made = nullptr;
    git::check(git_patch_from_diff(&made, diff.get(), i),
               [&] { return "The changes of " + file.path + " cannot be read"; });
    const git::Patch patch(made);
    if (made != nullptr) {
      std::size_t added = 0;
      std::size_t removed = 0;
      git_patch_line_stats(nullptr, &added, &removed, made);
      file.added = added;
      file.removed = removed;
      file.binary = (git_patch_get_delta(made)->flags & GIT_DIFF_FLAG_BINARY) != 0;
    }
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace tiffany::agent

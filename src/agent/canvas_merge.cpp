// The changes of a canvas on top of what a branch has become.
#include <git2/sys/index.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/canvas_path.hpp"
#include "agent/canvas_state.hpp"
#include "agent/git.hpp"
#include "base/shown_text.hpp"
#include "tiffany/agent/canvas.hpp"

namespace tiffany::agent {
namespace {

// What a merge leaves in the files carries digits of the commit that was merged with. So nothing
// has to be kept of it: what is left of the last merge has the digits of the base of the canvas,
// and no file of anybody else has them.
struct ConflictMarks {
  explicit ConflictMarks(const std::string& tip) : id(tip.substr(0, 12)) {}
  std::string id;
  std::string branch = "branch " + id;
  std::string base = "base " + id;
  std::string canvas = "canvas " + id;
  std::string of_branch = "~branch." + id;
  std::string of_canvas = "~canvas." + id;
};

// Markers are made in files that tools can change; one that a program has made larger since then is
// looked at up to this size.
constexpr std::size_t kMostMarkedBytes = std::size_t{64} << 20;

// One side of a conflict: the index that it comes from is changed before it is used.
struct ConflictSide {
  std::string path;
  git_oid id{};
  std::uint32_t mode = 0;
};
struct ConflictSides {
  std::optional<ConflictSide> base, branch, canvas;
};

std::optional<ConflictSide> side_of(const git_index_entry* entry) {
  if (entry == nullptr) return std::nullopt;
  return ConflictSide{entry->path, entry->id, entry->mode};
}

bool is_plain_side(const std::optional<ConflictSide>& side) {
  return side && (side->mode == kPlainMode || side->mode == kExecutableMode);
}

std::vector<ConflictSides> conflicts_in(git_index* index) {
  std::vector<ConflictSides> all;
  if (git_index_has_conflicts(index) != 1) return all;
  git_index_conflict_iterator* iterator = nullptr;
  git::check(git_index_conflict_iterator_new(&iterator, index), "Conflicts cannot be listed");
  const git::Conflicts owned(iterator);
  const git_index_entry* base = nullptr;
  const git_index_entry* branch = nullptr;
  const git_index_entry* canvas = nullptr;
  while (git_index_conflict_next(&base, &branch, &canvas, iterator) == 0) {
    all.push_back({side_of(base), side_of(branch), side_of(canvas)});
  }
  return all;
}

void put_side(git_index* index, const std::string& path, const git_oid& id, std::uint32_t mode) {
  git_index_entry entry{};
  entry.mode = mode;
  entry.id = id;
  entry.path = path.c_str();
  git::check(git_index_add(index, &entry),
             [&] { return "The file " + path + " cannot be put into the merged files"; });
}

// A side that changed the bit decides; of a file that both have made, either.
std::uint32_t merged_mode(const ConflictSides& sides) {
  const bool branch = sides.branch->mode == kExecutableMode;
  const bool canvas = sides.canvas->mode == kExecutableMode;
  if (!is_plain_side(sides.base)) return branch || canvas ? kExecutableMode : kPlainMode;
  const bool base = sides.base->mode == kExecutableMode;
  return (branch != base ? branch : canvas) ? kExecutableMode : kPlainMode;
}

std::size_t places_of_marks(std::string_view text, std::string_view mark) {
  std::size_t count = 0;
  for (std::size_t at = text.find(mark); at != std::string_view::npos;
       at = text.find(mark, at + mark.size())) {
    const std::size_t end = at + mark.size();
    const bool begins = at == 0 || text[at - 1] == '\n';
    const bool ends = end == text.size() || text[end] == '\n' || text[end] == '\r';
    count += begins && ends ? 1 : 0;
  }
  return count;
}

git_merge_file_input input_of(const std::string& bytes) {
  git_merge_file_input input{};
  git_merge_file_input_init(&input, GIT_MERGE_FILE_INPUT_VERSION);
  input.ptr = bytes.data();
  input.size = bytes.size();
  return input;
}

// The names that a file had before one of both, or both, gave it another one.
std::string renamed_from(git_index* index, const std::string& path) {
  for (std::size_t i = 0; i < git_index_name_entrycount(index); ++i) {
    const git_index_name_entry& entry = *git_index_name_get_byindex(index, i);
    if (entry.ancestor == nullptr) continue;
    if ((entry.ours != nullptr && path == entry.ours) ||
        (entry.theirs != nullptr && path == entry.theirs)) {
      return entry.ancestor;
    }
  }
  return {};
}

// ---- What stands in the files ----

// Both have a text at the same path: the text with markers. None: it cannot be shown so.
std::optional<std::string> marked_text(const Canvas::State& state, const ConflictSides& sides,
                                       const ConflictMarks& marks) {
  if (!is_plain_side(sides.branch) || !is_plain_side(sides.canvas)) return std::nullopt;
  if (sides.branch->path != sides.canvas->path) return std::nullopt;
  std::array<std::string, 3> bytes;
  const std::array<const std::optional<ConflictSide>*, 3> all = {&sides.base, &sides.branch,
                                                                 &sides.canvas};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!is_plain_side(*all[i])) continue;
    const ConflictSide& side = **all[i];
    if (state.size_of(side.id, side.path) > state.limits.file_bytes) return std::nullopt;
    bytes[i] = state.bytes_of(side.id, side.path);
    if (is_binary(bytes[i])) return std::nullopt;
  }
  git_merge_file_options options{};
  git_merge_file_options_init(&options, GIT_MERGE_FILE_OPTIONS_VERSION);
  options.flags = GIT_MERGE_FILE_STYLE_DIFF3;
  options.ancestor_label = marks.base.c_str();
  options.our_label = marks.branch.c_str();
  options.their_label = marks.canvas.c_str();
  const git_merge_file_input base = input_of(bytes[0]);
  const git_merge_file_input branch = input_of(bytes[1]);
  const git_merge_file_input canvas = input_of(bytes[2]);
  git_merge_file_result merged{};
  if (git_merge_file(&merged, &base, &branch, &canvas, &options) < 0) return std::nullopt;
  std::string text(merged.ptr == nullptr ? "" : merged.ptr, merged.ptr == nullptr ? 0 : merged.len);
  // Without a marker it is .gitattributes that says that the file is not to be merged as text.
  const bool marked = merged.automergeable == 0;
  git_merge_file_result_free(&merged);
  if (!marked || text.size() > state.limits.file_bytes) return std::nullopt;
  return text;
}

// Puts into the index what the one who changes the canvas is to look at, and says what that is.
std::string show_conflict(const Canvas::State& state, git_index* index, const ConflictSides& sides,
                          const ConflictMarks& marks) {
  if (const std::optional<std::string> text = marked_text(state, sides, marks)) {
    const std::string& path = sides.branch->path;
    put_side(index, path, state.store(*text, path), merged_mode(sides));
    const std::size_t places = places_of_marks(*text, "<<<<<<< " + marks.branch);
    return "Both have changed it. " + std::to_string(places) +
           (places == 1 ? " place is" : " places are") + " between markers in the file.";
  }
  if (!sides.branch && !sides.canvas) return {};  // shown where the renamed file is
  const ConflictSide& named = sides.branch ? *sides.branch : *sides.canvas;
  if (named.mode == GIT_FILEMODE_COMMIT || !canvas_path_problem(named.path).empty()) {
    // Nobody could mend it here: a submodule, or a name that no tool takes.
    if (sides.branch) put_side(index, named.path, sides.branch->id, sides.branch->mode);
    return "It is now what the branch has, and cannot be changed here.";
  }
  std::string said;
  if (sides.branch) {
    const std::string path = sides.branch->path + marks.of_branch;
    put_side(index, path, sides.branch->id, sides.branch->mode);
    said += "What the branch has is " + tiffany::detail::shown(path) + ". ";
  } else {
    said += "The branch has removed or renamed it. ";
  }
  if (sides.canvas && sides.canvas->mode != GIT_FILEMODE_COMMIT) {
    const std::string path = sides.canvas->path + marks.of_canvas;
    put_side(index, path, sides.canvas->id, sides.canvas->mode);
    said += "What you have is " + tiffany::detail::shown(path) + ". ";
  } else {
    said += "You have removed or renamed it. ";
  }
  const std::string before = renamed_from(index, named.path);
  if (!before.empty()) said += "It was " + tiffany::detail::shown(before) + " before. ";
  return said + "Rename what is right to its name, and remove what is not.";
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
  const std::vector<ConflictSides> conflicts = conflicts_in(made);
  if (!conflicts.empty()) {
    git::check(git_index_conflict_cleanup(made), "Conflicts cannot be taken out of an index");
  }
  Merge merge;
  const ConflictMarks marks(tip);
  for (const ConflictSides& each : conflicts) {
    std::string said = show_conflict(*state_, made, each, marks);
    if (said.empty()) continue;
    const ConflictSide& named = each.branch ? *each.branch : *each.canvas;
    merge.conflicts.push_back({named.path, std::move(said)});
  }
  git_oid id{};
  git::check(git_index_write_tree_to(&id, made, repository), "The merged tree cannot be written");
  state_->load(git::text_of(id));
  state_->base = tip;
  return merge;
}

std::vector<std::string> Canvas::unresolved() const {
  std::vector<std::string> found;
  if (state_->base.empty()) return found;
  const ConflictMarks marks(state_->base);
  const std::string opening = "<<<<<<< " + marks.branch;
  const std::string middle = "||||||| " + marks.base;
  const std::string closing = ">>>>>>> " + marks.canvas;
  const git::Tree base = state_->base_tree();
  git_diff_options options{};
  git_diff_options_init(&options, GIT_DIFF_OPTIONS_VERSION);
  git_diff* made = nullptr;
  git::check(git_diff_tree_to_index(&made, state_->repository.get(), base.get(),
                                    state_->index.get(), &options),
             "The changes of the canvas cannot be found");
  const git::Diff diff(made);
  for (std::size_t i = 0; i < git_diff_num_deltas(made); ++i) {
    const git_diff_file& file = git_diff_get_delta(made, i)->new_file;
    const std::string path(file.path);
    const git_index_entry* const entry = state_->find(path);
    if (entry == nullptr) continue;
    const bool beside = path.ends_with(marks.of_branch) || path.ends_with(marks.of_canvas);
    const bool read = !beside && (entry->mode == kPlainMode || entry->mode == kExecutableMode) &&
                      state_->size_of(entry->id, path) <= kMostMarkedBytes;
    const std::string text = read ? state_->bytes_of(entry->id, path) : std::string();
    const auto has = [&](const std::string& mark) { return places_of_marks(text, mark) > 0; };
    if (beside || has(opening) || has(middle) || has(closing)) found.push_back(path);
  }
  return found;
}

}  // namespace tiffany::agent

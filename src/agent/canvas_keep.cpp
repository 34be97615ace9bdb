// How a canvas comes to be, and what is kept of it.
#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/canvas_state.hpp"
#include "agent/git.hpp"
#include "tiffany/agent/canvas.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kDeepestTree = 256;

// Ten trees of ten entries that are the same tree are ten thousand million files: they are counted
// until there are too many, and read afterwards.
struct TreeCount {
  std::size_t files = 0;
  std::size_t most = 0;
  bool too_deep = false;
};
int count_entry(const char* root, const git_tree_entry* entry, void* payload) {
  TreeCount& count = *static_cast<TreeCount*>(payload);
  const std::string_view above(root);
  if (static_cast<std::size_t>(std::count(above.begin(), above.end(), '/')) >= kDeepestTree) {
    count.too_deep = true;
    return -1;
  }
  if (git_tree_entry_type(entry) != GIT_OBJECT_TREE) ++count.files;
  return count.files > count.most ? -1 : 0;
}

std::string commit_named(git_repository* repository, const std::string& path,
                         const std::string& name) {
  if (name.size() == GIT_OID_HEXSZ &&
      name.find_first_not_of("0123456789abcdef") == std::string::npos) {
    return git::text_of(*git_commit_id(git::commit_of(repository, name).get()));
  }
  git_reference* made = nullptr;
  const int code = git_reference_dwim(&made, repository, name.c_str());
  if (code == GIT_ENOTFOUND || code == GIT_EINVALIDSPEC) {
    refuse_ask("The repository " + path + " has no branch, tag or commit '" + name.substr(0, 200) +
               "'. Name one that it has, or the 40 digits of a commit.");
  }
  git::check(code, [&] { return "The ref " + name + " cannot be read"; });
  const git::Reference reference(made);
  git_object* peeled = nullptr;
  git::check(git_reference_peel(&peeled, made, GIT_OBJECT_COMMIT),
             [&] { return "The ref " + name + " leads to no commit"; });
  const git::Object commit(peeled);
  return git::text_of(*git_object_id(peeled));
}

git::Signature keeper(git_repository* repository, const std::string& base) {
  const git_time_t at = base.empty() ? 0 : git_commit_time(git::commit_of(repository, base).get());
  git_signature* made = nullptr;
  git::check(git_signature_new(&made, "tiffany", "tiffany@localhost", at, 0),
             "The name of a commit cannot be written");
  return git::Signature(made);
}

}  // namespace

std::string canvas_ref(const std::string& task) {
  git::begin();
  const std::string ref = "refs/tiffany/" + task + "/canvas";
  int valid = 0;
  if (task.empty() || task.size() > 100 || task.find('/') != std::string::npos ||
      git_reference_name_is_valid(&valid, ref.c_str()) < 0 || valid == 0) {
    refuse_ask("'" + task.substr(0, 100) + "' cannot be a part of the name of a ref.");
  }
  return ref;
}

// ---- State ----

git::Tree Canvas::State::base_tree() const {
  if (base.empty()) return nullptr;
  return git::tree_of_commit(repository.get(), base);
}

void Canvas::State::load(const std::string& id) {
  const git::Tree tree = git::tree_of(repository.get(), id);
  TreeCount count;
  count.most = limits.files;
  const int walked = git_tree_walk(tree.get(), GIT_TREEWALK_PRE, count_entry, &count);
  if (count.too_deep)
    refuse_ask("The tree " + id + " has more than 256 directories in one another.");
  if (count.files > limits.files) {
    refuse_ask("The tree " + id + " has more than " + std::to_string(limits.files) +
               " files, which is the limit.");
  }
  git::check(walked, [&] { return "The tree " + id + " cannot be read"; });
  git_index* made = nullptr;
  git::check(git_index_new(&made), "An index cannot be made");
  git::Index fresh(made);
  git::check(git_index_read_tree(made, tree.get()),
             [&] { return "The tree " + id + " cannot be read"; });
  index = std::move(fresh);
}

std::string Canvas::State::write_tree() const {
  git_oid id{};
  git::check(git_index_write_tree_to(&id, index.get(), repository.get()),
             "The tree of the canvas cannot be written");
  return git::text_of(id);
}

// ---- Opening ----

Canvas Canvas::open(const std::string& repository, const std::string& base, CanvasLimits limits) {
  auto state = std::make_unique<State>();
  state->path = repository;
  state->limits = limits;
  state->repository = git::open_unconfigured(repository);
  git_repository* const opened = state->repository.get();
  const int unborn = base.empty() || base == "HEAD" ? git_repository_head_unborn(opened) : 0;
  git::check(unborn, [&] { return "HEAD of " + repository + " cannot be read"; });
  if (unborn == 1) {
    git_index* made = nullptr;
    git::check(git_index_new(&made), "An index cannot be made");
    state->index.reset(made);
    return Canvas(std::move(state));
  }
  state->base = commit_named(opened, repository, base.empty() ? "HEAD" : base);
  state->load(git::text_of(*git_tree_id(state->base_tree().get())));
  return Canvas(std::move(state));
}

Canvas Canvas::reopen(const std::string& repository, const CanvasState& kept, CanvasLimits limits) {
  auto state = std::make_unique<State>();
  state->path = repository;
  state->limits = limits;
  state->repository = git::open_unconfigured(repository);
  state->base = kept.base;
  if (!kept.base.empty()) git::commit_of(state->repository.get(), kept.base);
  state->load(kept.tree);
  return Canvas(std::move(state));
}

std::optional<CanvasState> Canvas::kept(const std::string& repository, const std::string& task) {
  const git::Repository opened = git::open(repository);
  const std::string ref = canvas_ref(task);
  git_oid id{};
  const int code = git_reference_name_to_id(&id, opened.get(), ref.c_str());
  if (code == GIT_ENOTFOUND) return std::nullopt;
  git::check(code, [&] { return "The ref " + ref + " cannot be read"; });
  const git::Commit commit = git::commit_of(opened.get(), git::text_of(id));
  CanvasState state;
  state.tree = git::text_of(*git_commit_tree_id(commit.get()));
  if (git_commit_parentcount(commit.get()) > 0) {
    state.base = git::text_of(*git_commit_parent_id(commit.get(), 0));
  }
  return state;
}

void Canvas::forget(const std::string& repository, const std::string& task) {
  const git::Repository opened = git::open(repository);
  const std::string ref = canvas_ref(task);
  const int code = git::past_old_lock(
      opened.get(), ref, [&] { return git_reference_remove(opened.get(), ref.c_str()); });
  if (code == GIT_ENOTFOUND) return;
  git::check(code, [&] { return "The ref " + ref + " cannot be removed"; });
}

// ---- Keeping ----

std::string Canvas::tree() { return state_->write_tree(); }

// The time of the commit is that of the base: the same canvas gives the same commit.
CanvasState Canvas::keep(const std::string& task) {
  git_repository* const repository = state_->repository.get();
  const std::string ref = canvas_ref(task);
  CanvasState state;
  state.base = state_->base;
  state.tree = state_->write_tree();
  const git::Tree tree = git::tree_of(repository, state.tree);
  const git::Signature who = keeper(repository, state.base);
  const git::Commit parent =
      state.base.empty() ? git::Commit() : git::commit_of(repository, state.base);
  const git_oid id =
      git::write_commit_object(repository, who, "Canvas of " + task + "\n", tree, parent,
                               "The commit that keeps the canvas cannot be written");
  git_reference* made = nullptr;
  const int moved = git::past_old_lock(repository, ref, [&] {
    return git_reference_create(&made, repository, ref.c_str(), &id, 1, "canvas");
  });
  git::check(moved, [&] { return "The ref " + ref + " cannot be written"; });
  const git::Reference owned(made);
  return state;
}

bool Canvas::changed() const {
  const git::Tree base = state_->base_tree();
  if (!base) return git_index_entrycount(state_->index.get()) > 0;
  return state_->write_tree() != git::text_of(*git_tree_id(base.get()));
}

}  // namespace tiffany::agent

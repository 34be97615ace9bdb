#include "tiffany/agent/commit.hpp"

#include <fcntl.h>
#include <sys/types.h>

#include <chrono>
#include <deque>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/canvas_state.hpp"
#include "agent/git.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/descriptor.hpp"

namespace tiffany::agent {
namespace {

void check_ref(const std::string& ref) {
  git::begin();
  int valid = 0;
  const bool ours = ref.starts_with("refs/heads/") || ref.starts_with("refs/tiffany/");
  if (!ours || git_reference_name_is_valid(&valid, ref.c_str()) < 0 || valid == 0) {
    refuse_ask("'" + ref.substr(0, 200) +
               "' is no ref for commits. Give the name of a branch, as refs/heads/tiffany/fix.");
  }
}

git::Signature signature_of(const CommitRequest& request) {
  const std::string_view who = request.who;
  const std::size_t open = who.find('<');
  const std::size_t close = who.find('>');
  const bool fits = open != std::string_view::npos && open > 1 && close == who.size() - 1 &&
                    close > open + 1 && who.find('<', open + 1) == std::string_view::npos &&
                    who.find_first_of(std::string_view("\n\0", 2)) == std::string_view::npos;
  if (!fits) {
    refuse_ask("'" + request.who.substr(0, 200) +
               "' does not say whose commit it is. Write it as: Name <address>");
  }
  std::string name(who.substr(0, open));
  name.erase(name.find_last_not_of(' ') + 1);
  const std::string address(who.substr(open + 1, close - open - 1));
  const auto seconds =
      std::chrono::floor<std::chrono::seconds>(request.time).time_since_epoch().count();
  git_signature* made = nullptr;
  git::check(git_signature_new(&made, name.c_str(), address.c_str(), seconds, 0),
             [&] { return "The name '" + request.who + "' cannot be written into a commit"; });
  return git::Signature(made);
}

std::string write_commit(git_repository* repository, const CommitRequest& request) {
  if (request.message.empty() || request.message.find('\0') != std::string::npos) {
    refuse_ask("The message of the commit is empty, or has a zero byte.");
  }
  const git::Signature who = signature_of(request);
  const git::Tree tree = git::tree_of(repository, request.tree);
  const git::Commit parent =
      request.parent.empty() ? git::Commit() : git::commit_of(repository, request.parent);
  const std::string message =
      request.message.ends_with('\n') ? request.message : request.message + '\n';
  return git::text_of(git::write_commit_object(repository, who, message, tree, parent,
                                               "The commit cannot be written"));
}

std::optional<std::string> tip_in(git_repository* repository, const std::string& ref) {
  git_oid id{};
  const int code = git_reference_name_to_id(&id, repository, ref.c_str());
  if (code == GIT_ENOTFOUND) return std::nullopt;
  git::check(code, [&] { return "The ref " + ref + " cannot be read"; });
  return git::text_of(id);
}

// libgit2 does not know that the history of a shallow clone ends; this walk takes a commit that is
// not there for such an end.
bool descends_in_shallow(git_repository* repository, const git_oid& tip, const git_oid& sha) {
  constexpr std::size_t kMost = 100'000;
  std::set<std::string> seen;
  std::deque<git_oid> next{tip};
  while (!next.empty() && seen.size() < kMost) {
    const git_oid id = next.front();
    next.pop_front();
    if (git_oid_equal(&id, &sha) == 1) return true;
    git_commit* made = nullptr;
    if (!seen.insert(git::text_of(id)).second) continue;
    if (git_commit_lookup(&made, repository, &id) < 0) continue;
    const git::Commit commit(made);
    for (unsigned i = 0; i < git_commit_parentcount(made); ++i) {
      next.push_back(*git_commit_parent_id(made, i));
    }
  }
  return false;
}

bool has_commit_in(git_repository* repository, const std::string& ref, const std::string& sha) {
  const std::optional<std::string> tip = tip_in(repository, ref);
  if (!tip) return false;
  if (*tip == sha) return true;
  const git_oid from = git::oid_of(*tip);
  const git_oid to = git::oid_of(sha);
  if (git::is_shallow(repository)) return descends_in_shallow(repository, from, to);
  const int code = git_graph_descendant_of(repository, &from, &to);
  if (code == GIT_ENOTFOUND) return false;
  git::check(code, [&] { return "The history of " + ref + " cannot be read"; });
  return code == 1;
}

// The first line of a small file of git; empty: there is none.
std::string first_line_in(const std::string& path) {
  WorldFiles& files = World::current().files();
  const Descriptor file(files.open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return {};
  std::string text(4'096, '\0');
  const ssize_t n = files.read(file.fd(), text.data(), text.size());
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  text.erase(std::min(text.find('\n'), text.size()));
  return text;
}

// `directory` is that of a repository, or of a working tree below it: with a HEAD, and what a
// rebase keeps there while HEAD is detached. Read as files: the working tree itself may be gone,
// and git refuses to move its branch all the same.
bool uses_branch(const std::string& directory, const std::string& ref) {
  return first_line_in(directory + "HEAD") == "ref: " + ref ||
         first_line_in(directory + "rebase-merge/head-name") == ref ||
         first_line_in(directory + "rebase-apply/head-name") == ref;
}

bool is_checked_out_in(git_repository* repository, const std::string& ref) {
  const std::string common = git_repository_commondir(repository);
  git_strarray names{};
  git::check(git_worktree_list(&names, repository), "The working trees cannot be listed");
  bool used = false;
  for (std::size_t i = 0; i < names.count && !used; ++i) {
    used = uses_branch(common + "worktrees/" + names.strings[i] + "/", ref);
  }
  git_strarray_dispose(&names);
  if (used) return true;
  // The HEAD of a bare repository is the branch that clones begin with: nobody works on it. Asked
  // of the repository that all working trees share: this one may be a working tree of a bare one.
  git_repository* shared = nullptr;
  git::check(git_repository_open(&shared, common.c_str()), "The repository cannot be opened");
  const git::Repository owned(shared);
  return git_repository_is_bare(shared) == 0 && uses_branch(common, ref);
}

}  // namespace

std::string default_ref(const std::string& task) {
  git::begin();
  const std::string ref = "refs/heads/tiffany/" + task;
  int valid = 0;
  if (task.empty() || task.size() > 100 || task.find('/') != std::string::npos ||
      git_reference_name_is_valid(&valid, ref.c_str()) < 0 || valid == 0) {
    refuse_ask("'" + task.substr(0, 100) + "' cannot be a part of the name of a ref.");
  }
  return ref;
}

std::string commit_id(const CommitRequest& request) {
  return write_commit(git::open(request.repository).get(), request);
}

std::string commit_on(const CommitRequest& request) {
  const git::Repository repository = git::open(request.repository);
  check_ref(request.ref);
  std::string sha = write_commit(repository.get(), request);
  if (has_commit_in(repository.get(), request.ref, sha)) return sha;
  if (is_checked_out_in(repository.get(), request.ref)) {
    throw Error(Errc::canvas_conflict,
                "The branch " + request.ref + " of " + request.repository +
                    " is checked out in a working tree, and is not moved under whoever works "
                    "there. Commit on another branch, and merge that one.");
  }
  const std::optional<std::string> tip = tip_in(repository.get(), request.ref);
  const auto moved = [&](const std::string& where) {
    return Error(Errc::canvas_conflict,
                 "The ref " + request.ref + " is at " + where + " and not at " +
                     (request.parent.empty() ? "no commit" : request.parent) +
                     ", the parent of the commit. Merge the canvas onto it first.");
  };
  if (tip && *tip != request.parent) throw moved(*tip);

  const git_oid id = git::oid_of(sha);
  git_reference* made = nullptr;
  const int code = git::past_old_lock(repository.get(), request.ref, [&] {
    // Zero: there must be no such ref. git_reference_create would look before it locks the ref, and
    // of two at the same time both would make it.
    const git_oid expected = tip ? git::oid_of(request.parent) : git_oid{};
    return git_reference_create_matching(&made, repository.get(), request.ref.c_str(), &id, 1,
                                         &expected, "tiffany: commit");
  });
  const git::Reference owned(made);
  if (code == GIT_EMODIFIED || code == GIT_EEXISTS || (tip && code == GIT_ENOTFOUND)) {
    throw moved("another commit by now");
  }
  git::check(code, [&] { return "The ref " + request.ref + " cannot be moved"; });
  return sha;
}

bool has_commit(const std::string& repository, const std::string& ref, const std::string& sha) {
  return has_commit_in(git::open(repository).get(), ref, sha);
}

std::optional<std::string> tip_of(const std::string& repository, const std::string& ref) {
  return tip_in(git::open(repository).get(), ref);
}

bool is_checked_out(const std::string& repository, const std::string& ref) {
  return is_checked_out_in(git::open(repository).get(), ref);
}

}  // namespace tiffany::agent

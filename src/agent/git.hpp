// libgit2, as this module uses it: owners for its objects, and its errors as sentences.
#pragma once

#include <git2.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace tiffany::agent::git {

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* object) const noexcept { kFree(object); }
};
template <class T, void (*kFree)(T*)>
using Owned = std::unique_ptr<T, Freed<T, kFree>>;

using Repository = Owned<git_repository, git_repository_free>;
using Odb = Owned<git_odb, git_odb_free>;
using Object = Owned<git_object, git_object_free>;
using Commit = Owned<git_commit, git_commit_free>;
using Tree = Owned<git_tree, git_tree_free>;
using Blob = Owned<git_blob, git_blob_free>;
using Index = Owned<git_index, git_index_free>;
using Reference = Owned<git_reference, git_reference_free>;
using Diff = Owned<git_diff, git_diff_free>;
using Patch = Owned<git_patch, git_patch_free>;
using Signature = Owned<git_signature, git_signature_free>;
using Conflicts = Owned<git_index_conflict_iterator, git_index_conflict_iterator_free>;

// Throws canvas_failed with `what` ("commit abc cannot be read"), the words of libgit2, and what
// can be done about it.
[[noreturn]] void fail(const std::string& what, int code);
inline void check(int code, const std::string& what) {
  if (code < 0) fail(what, code);
}
// For a `what` that costs something to make.
template <class What>
  requires std::is_invocable_v<What>
void check(int code, const What& what) {
  if (code < 0) fail(what(), code);
}

// Once for the life of the process, before anything of libgit2 is used; open() does it.
void begin();
// A handle of its own for each caller: handles are not shared between threads.
Repository open(const std::string& path);
// The same without the configuration of repository and user: nothing there decides what files a
// checkout has, which are taken back, and how a merge is made (core.symlinks, merge.renames).
Repository open_unconfigured(const std::string& path);
// For a merge or a diff that needs neither a working tree nor the index.
Tree tree_of(git_repository* repository, const std::string& id);
Tree tree_of_commit(git_repository* repository, const std::string& id);
Commit commit_of(git_repository* repository, const std::string& id);

// The object of a commit, which no ref names yet; `parent` null: it has none. `what`: as of
// check().
git_oid write_commit_object(git_repository* repository, const Signature& who,
                            const std::string& message, const Tree& tree, const Commit& parent,
                            const std::string& what);

// All of its 40 digits; an Error canvas_failed for other texts.
git_oid oid_of(std::string_view id);
std::string text_of(const git_oid& id);

// A process that was killed while it moved a ref leaves a .lock file. Nobody but an agent moves
// refs/tiffany/ and refs/heads/tiffany/: a lock there that is older than three seconds is removed.
// True: it was, and what failed with GIT_ELOCKED may be tried again.
bool remove_old_lock(git_repository* repository, const std::string& ref);
// Does that for a `call` that gives the code of libgit2.
template <class Call>
int past_old_lock(git_repository* repository, const std::string& ref, const Call& call) {
  const int code = call();
  return code == GIT_ELOCKED && remove_old_lock(repository, ref) ? call() : code;
}

// Whether a shallow clone: history ends somewhere, and that is no damage.
bool is_shallow(git_repository* repository);

}  // namespace tiffany::agent::git

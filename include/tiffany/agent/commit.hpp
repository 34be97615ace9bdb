// A commit of what was approved, that can be made again without being made twice.
//
//   agent::CommitRequest commit;
//   commit.repository = "/srv/shop";
//   commit.ref = agent::default_ref(task);         // refs/heads/tiffany/<task>
//   commit.tree = state.tree;
//   commit.parent = state.base;
//   commit.message = "Count the price";
//   commit.who = "Ada <ada@example.org>";
//   commit.time = flow.now();                      // from the log, never from a clock
//   const std::string sha = agent::commit_on(commit);
//
// Everything that the id of a commit is made of is in the request. So a request that is repeated
// after a crash gives the same id, and the only effect is that the ref moves, by compare-and-swap.
// Whether that was done is asked with has_commit().
//
// Hooks are not run, and signatures are not made. Calls block: use offload (io/offload.hpp). Thread
// safety: any thread; requests for one ref should come one after the other, because of two at the
// same time one is refused.
#pragma once

#include <optional>
#include <string>

#include "tiffany/base/calendar.hpp"

namespace tiffany::agent {

class CommitRequest {
 public:
  CommitRequest() = default;
  std::string repository{};
  std::string ref{};     // below refs/heads or refs/tiffany
  std::string tree{};    // 40 digits
  std::string parent{};  // 40 digits; empty: the first commit
  std::string message{};
  std::string who{};  // "Name <address>"
  WallTime time{};    // in whole seconds, UTC
};

// refs/heads/tiffany/<task>. An Error bad_argument for what cannot be a part of a ref.
std::string default_ref(const std::string& task);

// The id that commit_on() gives; writes the commit and moves no ref.
std::string commit_id(const CommitRequest& request);

// Moves the ref from the parent to the new commit, or makes the ref when it is not there. Does
// nothing when has_commit() is true already. Objects and ref are on the disk when it returns.
//
// Errors: canvas_conflict when the ref is at another commit than the parent (merge the canvas onto
// that one first), or is a branch that somebody has checked out, in any working tree, which is
// never moved; bad_argument for a request with mistakes; canvas_failed when the repository cannot
// be read or written, for example because a .lock file is there. One that a killed process has left
// for a ref below refs/heads/tiffany or refs/tiffany is removed when it is three seconds old.
std::string commit_on(const CommitRequest& request);

// Whether a ref is at that commit, or at one that descends from it.
bool has_commit(const std::string& repository, const std::string& ref, const std::string& sha);

// Where a ref is; none: it does not exist.
std::optional<std::string> tip_of(const std::string& repository, const std::string& ref);

// Whether a branch is checked out, or being rebased, in the repository or one of its working trees.
bool is_checked_out(const std::string& repository, const std::string& ref);

}  // namespace tiffany::agent

// The history that a canvas is based on.
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "agent/canvas_path.hpp"
#include "agent/canvas_state.hpp"
#include "agent/git.hpp"
#include "base/utf8.hpp"
#include "tiffany/agent/canvas.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kMostWalked = 10'000;
constexpr std::size_t kLongestSubject = 200;

// Names and messages are bytes that anybody chose.
std::string line_of_text(const char* text) {
  std::string_view line = text == nullptr ? "" : text;
  line = line.substr(0, line.find('\n'));
  std::string out(tiffany::detail::utf8_prefix(line, kLongestSubject));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  if (line.size() > kLongestSubject) out += "...";
  if (tiffany::detail::is_utf8(out)) return out;
  for (char& c : out) {
    if (static_cast<unsigned char>(c) >= 0x80U) c = '?';
  }
  return out;
}

CanvasCommit told_of(git_commit* commit) {
  CanvasCommit told;
  told.id = git::text_of(*git_commit_id(commit));
  const git_signature* const author = git_commit_author(commit);
  told.author = line_of_text(author == nullptr ? nullptr : author->name);
  told.time_us = git_commit_time(commit) * 1'000'000;
  told.subject = line_of_text(git_commit_message(commit));
  return told;
}

// Commits by their times, the newest first, and by their ids where these are equal.
class Walk {
 public:
  explicit Walk(git_repository* repository)
      : repository_(repository), shallow_(git::is_shallow(repository)) {}

  void add(const std::string& id) {
    if (!seen_.insert(id).second) return;
    git_commit* made = nullptr;
    const git_oid oid = git::oid_of(id);
    const int code = git_commit_lookup(&made, repository_, &oid);
    // libgit2 does not know that the history of a shallow clone ends.
    if (code == GIT_ENOTFOUND && shallow_) return;
    git::check(code, [&] { return "The commit " + id + " cannot be read"; });
    const git::Commit commit(made);
    waiting_.emplace(-git_commit_time(made), id);
  }
  bool empty() const noexcept { return waiting_.empty(); }
  git::Commit next() {
    const std::string id = waiting_.begin()->second;
    waiting_.erase(waiting_.begin());
    git::Commit commit = git::commit_of(repository_, id);
    for (unsigned int i = 0; i < git_commit_parentcount(commit.get()); ++i) {
      add(git::text_of(*git_commit_parent_id(commit.get(), i)));
    }
    return commit;
  }
  // Whether a commit has that path as none of its parents has it.
  bool changes(git_commit* commit, const std::string& path) const {
    const std::string here = entry_in(commit, path);
    const unsigned int parents = git_commit_parentcount(commit);
    for (unsigned int i = 0; i < parents; ++i) {
      git_commit* made = nullptr;
      const int code = git_commit_parent(&made, commit, i);
      if (code == GIT_ENOTFOUND && shallow_) continue;
      git::check(code, "A commit of the history cannot be read");
      const git::Commit parent(made);
      if (entry_in(made, path) == here) return false;
    }
    return parents > 0 || !here.empty();
  }

 private:
  static std::string entry_in(git_commit* commit, const std::string& path) {
    git_tree* made = nullptr;
    git::check(git_commit_tree(&made, commit), "The tree of a commit cannot be read");
    const git::Tree tree(made);
    git_tree_entry* entry = nullptr;
    const int code = git_tree_entry_bypath(&entry, made, path.c_str());
    if (code == GIT_ENOTFOUND) return "";
    git::check(code, [&] { return "The entry " + path + " of a tree cannot be read"; });
    std::string id = git::text_of(*git_tree_entry_id(entry));
    id += std::to_string(git_tree_entry_filemode(entry));
    git_tree_entry_free(entry);
    return id;
  }

  git_repository* repository_;
  bool shallow_;
  std::set<std::string> seen_;
  std::set<std::pair<git_time_t, std::string>> waiting_;
};

}  // namespace

CanvasLog Canvas::log(std::size_t most, const std::string& path) const {
  if (!path.empty()) check_canvas_path(path);
  CanvasLog log;
  if (state_->base.empty()) return log;
  Walk walk(state_->repository.get());
  walk.add(state_->base);
  for (std::size_t walked = 0; !walk.empty(); ++walked) {
    log.cut = log.commits.size() == most || walked == kMostWalked;
    if (log.cut) break;
    const git::Commit commit = walk.next();
    if (path.empty() || walk.changes(commit.get(), path)) {
      log.commits.push_back(told_of(commit.get()));
    }
  }
  return log;
}

}  // namespace tiffany::agent

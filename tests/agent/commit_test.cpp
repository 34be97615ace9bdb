#include "tiffany/agent/commit.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "agent/repository.hpp"
#include "tiffany/agent/canvas.hpp"

namespace tiffany::agent {
namespace commit_test {

using namespace canvas_support;  // NOLINT(google-build-using-namespace)

CommitRequest request_for(const std::string& repository, const CanvasState& state) {
  CommitRequest request;
  request.repository = repository;
  request.ref = default_ref("task");
  request.tree = state.tree;
  request.parent = state.base;
  request.message = "Count the price";
  request.who = "Ada Lovelace <ada@example.org>";
  request.time = WallTime(std::chrono::seconds(1'800'000'000));
  return request;
}

CanvasState changed_state(const std::string& repository, const std::string& text = "new\n") {
  Canvas canvas = Canvas::open(repository, "");
  canvas.write("new.txt", text);
  return canvas.keep("task");
}

TEST(AgentCommit, MadeAgainItIsTheSameCommitAndTheRefMovesOnce) {
  const Repository repository;
  const CommitRequest request = request_for(repository.path(), changed_state(repository.path()));
  const std::string expected = commit_id(request);
  EXPECT_EQ(tip_of(repository.path(), request.ref), std::nullopt);
  EXPECT_FALSE(has_commit(repository.path(), request.ref, expected));
  EXPECT_EQ(commit_on(request), expected);
  EXPECT_EQ(tip_of(repository.path(), request.ref), expected);
  EXPECT_TRUE(has_commit(repository.path(), request.ref, expected));
  EXPECT_EQ(commit_on(request), expected);
  EXPECT_EQ(repository.git("rev-list --count " + request.ref), "2");
  EXPECT_EQ(repository.git("log -1 --format='%an|%ae|%at|%ct|%s' " + request.ref),
            "Ada Lovelace|ada@example.org|1800000000|1800000000|Count the price");
  EXPECT_EQ(repository.git("rev-parse " + expected + "^{tree}"), request.tree);
  EXPECT_EQ(repository.git("fsck --strict --no-dangling"), "");
}

TEST(AgentCommit, IsDoneWhenTheRefHasGoneOnFromIt) {
  const Repository repository;
  CommitRequest request = request_for(repository.path(), changed_state(repository.path()));
  const std::string first = commit_on(request);
  CommitRequest second = request;
  second.parent = first;
  second.message = "More";
  const std::string next = commit_on(second);
  EXPECT_TRUE(has_commit(repository.path(), request.ref, first));
  EXPECT_EQ(commit_on(request), first);
  EXPECT_EQ(tip_of(repository.path(), request.ref), next);
}

TEST(AgentCommit, ARefThatIsElsewhereIsNotMoved) {
  const Repository repository;
  const CommitRequest request = request_for(repository.path(), changed_state(repository.path()));
  repository.git("update-ref " + request.ref + " $(git -C " + repository.path() +
                 " commit-tree -m other HEAD^{tree})");
  const std::string other = *tip_of(repository.path(), request.ref);
  const Thrown thrown = thrown_by([&] { commit_on(request); });
  EXPECT_EQ(thrown.code, Errc::canvas_conflict);
  EXPECT_TRUE(thrown.says("is at " + other + " and not at " + request.parent)) << thrown.sentence;
  EXPECT_EQ(tip_of(repository.path(), request.ref), other);
}

TEST(AgentCommit, ABranchThatIsCheckedOutAnywhereIsNeverMoved) {
  const Repository repository;
  repository.git("branch side");
  repository.git("branch idle");
  repository.git("worktree add -q " + repository.beside("tree") + " side");
  CommitRequest request = request_for(repository.path(), changed_state(repository.path()));
  const auto refused = [&](const std::string& ref) {
    request.ref = ref;
    const Thrown thrown = thrown_by([&] { commit_on(request); });
    return thrown.code == Errc::canvas_conflict && thrown.says("is checked out");
  };
  EXPECT_TRUE(refused("refs/heads/main"));
  EXPECT_TRUE(refused("refs/heads/side"));
  EXPECT_FALSE(is_checked_out(repository.path(), "refs/heads/idle"));
  // Seen from the other working tree, too, and when its directory is gone.
  request.repository = repository.beside("tree");
  EXPECT_TRUE(refused("refs/heads/main"));
  EXPECT_TRUE(refused("refs/heads/side"));
  std::filesystem::remove_all(repository.beside("tree"));
  request.repository = repository.path();
  EXPECT_TRUE(refused("refs/heads/side"));
  EXPECT_FALSE(refused("refs/heads/idle"));
  EXPECT_EQ(repository.git("rev-parse main side"), request.parent + "\n" + request.parent);
  EXPECT_NE(repository.git("rev-parse idle"), request.parent);
}

TEST(AgentCommit, ABranchThatIsBeingRebasedIsNotMoved) {
  const Repository repository;
  repository.git("checkout -q --detach");
  EXPECT_FALSE(is_checked_out(repository.path(), "refs/heads/main"));
  write_file(repository.path() + "/.git/rebase-merge/head-name", "refs/heads/main\n");
  EXPECT_TRUE(is_checked_out(repository.path(), "refs/heads/main"));
}

TEST(AgentCommit, TheFirstCommitOfARepositoryIsNotMadeOnTheBranchThatIsCheckedOut) {
  const Scratch scratch;
  shell("git init -q -b main " + (scratch / "empty"));
  const CanvasState state = changed_state(scratch / "empty");
  EXPECT_EQ(state.base, "");
  CommitRequest request = request_for(scratch / "empty", state);
  const std::string sha = commit_on(request);
  EXPECT_EQ(shell("git -C " + (scratch / "empty") + " rev-list --parents " + request.ref), sha);
  request.ref = "refs/heads/main";
  EXPECT_TRUE(thrown_by([&] { commit_on(request); }).says("is checked out"));
  EXPECT_EQ(Canvas::kept(scratch / "empty", "task"), state);
}

TEST(AgentCommit, InABareRepositoryItsMainBranchMayMove) {
  const Repository repository;
  const std::string bare = repository.beside("bare.git");
  repository.git("clone -q --bare . " + bare);
  CommitRequest request = request_for(bare, changed_state(bare));
  request.ref = "refs/heads/main";
  const std::string sha = commit_on(request);
  EXPECT_EQ(tip_of(bare, "refs/heads/main"), sha);
}

TEST(AgentCommit, WorksInAShallowClone) {
  const Repository repository;
  repository.commit_file("more", "more");
  const std::string shallow = repository.beside("shallow");
  shell("git clone -q --depth 1 file://" + repository.path() + " " + shallow);
  CommitRequest request = request_for(shallow, changed_state(shallow));
  request.time = WallTime(std::chrono::seconds(1'000));  // a clock that was wrong
  const std::string sha = commit_on(request);
  EXPECT_EQ(commit_on(request), sha);
  EXPECT_FALSE(has_commit(shallow, "refs/heads/main", sha));
  CommitRequest second = request;
  second.parent = sha;
  commit_on(second);
  EXPECT_TRUE(has_commit(shallow, request.ref, sha));
  shell("cd " + shallow + " && git checkout -q --detach && git merge -q --no-edit " + request.ref +
        " && git merge -q --no-ff --no-edit origin/main && git commit -q --allow-empty -m m && "
        "git update-ref " +
        request.ref + " HEAD");
  EXPECT_TRUE(has_commit(shallow, request.ref, sha));
}

TEST(AgentCommit, ALockThatWasLeftIsNamed) {
  const Repository repository;
  const CommitRequest request = request_for(repository.path(), changed_state(repository.path()));
  write_file(repository.path() + "/.git/" + request.ref + ".lock", "");
  const Thrown thrown = thrown_by([&] { commit_on(request); });
  EXPECT_EQ(thrown.code, Errc::canvas_failed);
  EXPECT_TRUE(thrown.says(".lock")) << thrown.sentence;
  EXPECT_TRUE(thrown.says("remove that file")) << thrown.sentence;
  std::filesystem::remove(repository.path() + "/.git/" + request.ref + ".lock");
  EXPECT_EQ(commit_on(request), commit_id(request));
}

// A process that was killed while a ref of ours moved must not stop its successor.
TEST(AgentCommit, AnOldLockOnARefOfOursIsRemovedAndOneOfAUserIsNot) {
  const Repository repository;
  const auto lock_long_ago = [&](const std::string& ref) {
    const std::string lock = repository.path() + "/.git/" + ref + ".lock";
    write_file(lock, "");
    std::filesystem::last_write_time(
        lock, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(1));
  };
  lock_long_ago("refs/tiffany/task/canvas");
  CommitRequest request = request_for(repository.path(), changed_state(repository.path()));
  lock_long_ago(request.ref);
  EXPECT_EQ(tip_of(repository.path(), request.ref), std::nullopt);
  const std::string sha = commit_on(request);
  EXPECT_EQ(tip_of(repository.path(), request.ref), sha);
  lock_long_ago("refs/tiffany/task/canvas");
  Canvas::forget(repository.path(), "task");
  EXPECT_EQ(Canvas::kept(repository.path(), "task"), std::nullopt);
  lock_long_ago("refs/heads/feature");
  request.ref = "refs/heads/feature";
  EXPECT_TRUE(thrown_by([&] { commit_on(request); }).says("remove that file"));
}

// Whoever finds the ref locked fails, and whoever comes later finds it moved: at most one is left,
// and the first to lock it always is.
TEST(AgentCommit, OfManyAtTheSameTimeOneMovesTheRef) {
  const Repository repository;
  const CommitRequest request = request_for(repository.path(), changed_state(repository.path()));
  std::vector<std::string> made(6);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < made.size(); ++i) {
    threads.emplace_back([&, i] {
      CommitRequest mine = request;
      mine.message += std::to_string(i);
      const Thrown thrown = thrown_by([&] { made[i] = commit_on(mine); });
      EXPECT_TRUE(thrown.sentence.empty() || thrown.code == Errc::canvas_conflict ||
                  thrown.code == Errc::canvas_failed)
          << thrown.sentence;
    });
  }
  for (std::thread& each : threads) each.join();
  std::erase(made, "");
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(tip_of(repository.path(), request.ref), made[0]);
}

TEST(AgentCommit, ABranchInTheWayOfTheDirectoryOfRefsIsSaid) {
  const Repository repository;
  repository.git("branch tiffany");
  const CommitRequest request = request_for(repository.path(), changed_state(repository.path()));
  const Thrown thrown = thrown_by([&] { commit_on(request); });
  EXPECT_EQ(thrown.code, Errc::canvas_failed);
  EXPECT_TRUE(thrown.says("cannot be moved")) << thrown.sentence;
}

TEST(AgentCommit, ARequestWithMistakesIsRefused) {
  const Repository repository;
  const CommitRequest good = request_for(repository.path(), changed_state(repository.path()));
  const auto refused = [&](const auto& change) {
    CommitRequest request = good;
    change(request);
    const Thrown thrown = thrown_by([&] { commit_on(request); });
    return thrown.code == Errc::bad_argument || thrown.code == Errc::canvas_failed;
  };
  for (const char* ref : {"", "main", "HEAD", "refs/tags/v1", "refs/remotes/o/main", "refs/heads/",
                          "refs/heads/a..b", "refs/heads/../../config", "refs/heads/a b"}) {
    EXPECT_TRUE(refused([&](CommitRequest& r) { r.ref = ref; })) << ref;
  }
  for (const char* who : {"", "Ada", "<a@b>", "Ada <>", "Ada <a@b> x", "A <b> <c>", "A\n<b@c>"}) {
    EXPECT_TRUE(refused([&](CommitRequest& r) { r.who = who; })) << who;
  }
  EXPECT_TRUE(refused([](CommitRequest& r) { r.message = ""; }));
  EXPECT_TRUE(refused([](CommitRequest& r) { r.tree = std::string(40, 'a'); }));
  EXPECT_TRUE(refused([](CommitRequest& r) { r.tree = "HEAD"; }));
  EXPECT_TRUE(refused([](CommitRequest& r) { r.parent = r.tree; }));
  EXPECT_EQ(tip_of(repository.path(), good.ref), std::nullopt);
}

// ---- Repositories that cannot be used ----

TEST(AgentRepository, EachThatCannotBeUsedIsASentence) {
  const Scratch scratch;
  const auto opened = [](const std::string& path) {
    return thrown_by([&] { Canvas::open(path, ""); });
  };
  const auto expect = [](const Thrown& thrown, const std::string& part) {
    EXPECT_EQ(thrown.code, Errc::canvas_failed);
    EXPECT_TRUE(thrown.says(part)) << thrown.sentence;
  };
  expect(opened(scratch / "nowhere"), "is not a git repository");
  expect(opened(scratch.path()), "is not a git repository");
  shell("git init -q --object-format=sha256 " + (scratch / "sha256"));
  expect(opened(scratch / "sha256"), "SHA-256 ids are not supported");
  shell("git init -q " + (scratch / "extension") + " && git -C " + (scratch / "extension") +
        " config core.repositoryformatversion 1 && git -C " + (scratch / "extension") +
        " config extensions.unheard 1");
  expect(opened(scratch / "extension"), "extension of git that libgit2 does not know");
}

TEST(AgentRepository, OneOfAnotherUserIsASentence) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a directory to somebody else";
  const Repository repository;
  shell("chown -R 65534 " + repository.path());
  const Thrown thrown = thrown_by([&] { Canvas::open(repository.path(), ""); });
  EXPECT_EQ(thrown.code, Errc::canvas_failed);
  EXPECT_TRUE(thrown.says("belongs to another user")) << thrown.sentence;
}

TEST(AgentRepository, OneWithoutItsObjectsIsASentence) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  const std::string blob = repository.git("rev-parse HEAD:README.md");
  const std::string object =
      repository.path() + "/.git/objects/" + blob.substr(0, 2) + "/" + blob.substr(2);
  std::filesystem::remove(object);
  Canvas again = Canvas::open(repository.path(), "main");
  const Thrown thrown = thrown_by([&] { again.read("README.md"); });
  EXPECT_EQ(thrown.code, Errc::canvas_failed);
  EXPECT_TRUE(thrown.says("The content of README.md cannot be read")) << thrown.sentence;
  EXPECT_EQ(thrown_by([&] { again.checkout(repository.beside("files")); }).code,
            Errc::canvas_failed);
  again.write("other", "other");  // its directory would name what nobody has
  EXPECT_TRUE(thrown_by([&] { again.keep("task"); }).says("README.md"));
}

// libgit2 gives no error for a commit that it could not write.
TEST(AgentRepository, ACommitThatCannotBeWrittenIsASentence) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  for (int i = 0; i < 50; ++i) {
    const std::string task = "task" + std::to_string(i);
    canvas.keep(task);
    const std::string ref = "refs/tiffany/" + task + "/canvas";
    const std::string id = repository.git("rev-parse " + ref);
    const std::string directory = repository.path() + "/.git/objects/" + id.substr(0, 2);
    repository.git("update-ref -d " + ref);
    std::filesystem::remove(directory + "/" + id.substr(2));
    if (!std::filesystem::is_empty(directory)) continue;  // another object is there, too
    std::filesystem::remove(directory);
    write_file(directory, "");  // nobody can make the directory
    const Thrown thrown = thrown_by([&] { canvas.keep(task); });
    EXPECT_EQ(thrown.code, Errc::canvas_failed);
    EXPECT_TRUE(thrown.says("The commit that keeps the canvas cannot be written"))
        << thrown.sentence;
    EXPECT_EQ(Canvas::kept(repository.path(), task), std::nullopt);
    return;
  }
  FAIL() << "no object had a directory of its own";
}

// As root nothing is read-only, so that a file stands where a directory has to be made.
TEST(AgentRepository, OneThatCannotBeWrittenIsASentence) {
  const Repository repository;
  Canvas canvas = Canvas::open(repository.path(), "main");
  std::filesystem::remove_all(repository.path() + "/.git/objects");
  write_file(repository.path() + "/.git/objects", "");
  const Thrown thrown = thrown_by([&] { canvas.write("a", "b"); });
  EXPECT_EQ(thrown.code, Errc::canvas_failed);
  EXPECT_TRUE(thrown.says("The content of a cannot be written")) << thrown.sentence;
  EXPECT_FALSE(canvas.has("a"));
}

}  // namespace commit_test
}  // namespace tiffany::agent

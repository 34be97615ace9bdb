#include "agent/git.hpp"

#include <git2/sys/repository.h>

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tiffany/agent/repositories.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany::agent::git {
namespace {

std::string advice(int code, std::string_view said) {
  if (code == GIT_ELOCKED) {
    return " Another git program works there, or one that was killed has left its .lock file: "
           "remove that file when no git runs.";
  }
  if (code == GIT_EOWNER) {
    return " The repository belongs to another user: run as that user, or add it to "
           "safe.directory of git.";
  }
  if (said.find("extension") != std::string_view::npos) {
    return " The repository uses an extension of git that libgit2 does not know.";
  }
  if (said.find("denied") != std::string_view::npos ||
      said.find("Read-only") != std::string_view::npos) {
    return " The repository has to be writable for the user of this program.";
  }
  return {};
}

// Before libgit2 looks: it would refuse these as well, and lose 20 KiB for each line of their
// configuration when it does (git_repository_open_ext of 1.5).
void refuse_extensions(const std::string& path) {
  for (const char* name : {"/.git/config", "/config"}) {
    git_config* made = nullptr;
    if (git_config_open_ondisk(&made, (path + name).c_str()) < 0) continue;
    const Owned<git_config, git_config_free> config(made);
    std::int32_t version = 0;
    if (git_config_get_int32(&version, made, "core.repositoryformatversion") < 0) continue;
    git_config_iterator* iterator = nullptr;
    if (version < 1 || git_config_iterator_new(&iterator, made) < 0) return;
    const Owned<git_config_iterator, git_config_iterator_free> owned(iterator);
    for (git_config_entry* entry = nullptr; git_config_next(&entry, iterator) == 0;) {
      const std::string extension(entry->name);
      if (!extension.starts_with("extensions.") || extension == "extensions.noop") continue;
      const bool format = extension == "extensions.objectformat";
      throw Error(Errc::canvas_failed,
                  "The repository " + path + " cannot be opened: it needs " + extension + ". " +
                      (format ? "Repositories with SHA-256 ids are not supported: use one with "
                                "SHA-1."
                              : "That is an extension of git that libgit2 does not know."));
    }
    return;
  }
}

}  // namespace

void begin() {
  [[maybe_unused]] static const bool begun = [] {
    git_libgit2_init();
    // Objects and refs are on the disk before anything that is recorded depends on them.
    git_libgit2_opts(GIT_OPT_ENABLE_FSYNC_GITDIR, 1);
    return true;
  }();
}

void fail(const std::string& what, int code) {
  const git_error* last = git_error_last();
  std::string said = last != nullptr && last->message != nullptr ? last->message : "unknown error";
  said.erase(said.find_last_not_of(".: ") + 1);
  const std::string sentence = what + ": " + said + "." + advice(code, said);
  if (code == GIT_ELOCKED) throw RepositoryBusy(Errc::canvas_failed, sentence);
  throw Error(Errc::canvas_failed, sentence);
}

Repository open(const std::string& path) {
  begin();
  refuse_extensions(path);
  git_repository* made = nullptr;
  // Neither a directory above, nor what the environment names.
  const int code = git_repository_open_ext(&made, path.c_str(), GIT_REPOSITORY_OPEN_NO_SEARCH, "");
  // So does libgit2 1.5 say that somebody else owns the repository, and no configuration allows it.
  const git_error* const last = code < 0 ? git_error_last() : nullptr;
  if (last != nullptr && last->message != nullptr &&
      std::string_view(last->message).find("safe.directory") != std::string_view::npos) {
    fail("The repository " + path + " cannot be opened", GIT_EOWNER);
  }
  if (code == GIT_ENOTFOUND) {
    throw Error(Errc::canvas_failed,
                path + " is not a git repository. Name its directory, or run git init there.");
  }
  check(code, [&] { return "The repository " + path + " cannot be opened"; });
  return Repository(made);
}

Repository open_unconfigured(const std::string& path) {
  Repository repository = open(path);
  git_config* made = nullptr;
  check(git_config_new(&made), "An empty configuration cannot be made");
  const Owned<git_config, git_config_free> nothing(made);
  check(git_repository_set_config(repository.get(), made), "A configuration cannot be replaced");
  return repository;
}

// libgit2 1.5 gives no error when the object could not be written, on a disk that is full or cannot
// be written: only its last error says so.
git_oid write_commit_object(git_repository* repository, const Signature& who,
                            const std::string& message, const Tree& tree, const Commit& parent,
                            const std::string& what) {
  const git_commit* parents[] = {parent.get()};
  git_oid id{};
  git_error_clear();
  check(git_commit_create(&id, repository, nullptr, who.get(), who.get(), nullptr, message.c_str(),
                          tree.get(), parent ? 1 : 0, parents),
        what);
  const git_error* const said = git_error_last();
  const std::string why = said != nullptr && said->message != nullptr ? said->message : "";
  git_odb* made = nullptr;
  check(git_repository_odb(&made, repository), "The objects cannot be opened");
  const Odb odb(made);
  if (git_odb_exists(made, &id) == 1) return id;
  git_error_set_str(GIT_ERROR_ODB, why.empty() ? "nobody says why" : why.c_str());
  fail(what, GIT_ERROR);
}

git_oid oid_of(std::string_view id) {
  git_oid made{};
  if (id.size() != GIT_OID_HEXSZ || git_oid_fromstrn(&made, id.data(), id.size()) < 0) {
    throw Error(Errc::canvas_failed,
                "'" + std::string(id.substr(0, 80)) + "' is not the id of an object (40 digits).");
  }
  return made;
}

std::string text_of(const git_oid& id) {
  std::string text(GIT_OID_HEXSZ, '\0');
  git_oid_fmt(text.data(), &id);
  return text;
}

Commit commit_of(git_repository* repository, const std::string& id) {
  const git_oid oid = oid_of(id);
  git_commit* made = nullptr;
  check(git_commit_lookup(&made, repository, &oid),
        [&] { return "The commit " + id + " cannot be read"; });
  return Commit(made);
}

Tree tree_of(git_repository* repository, const std::string& id) {
  const git_oid oid = oid_of(id);
  git_tree* made = nullptr;
  check(git_tree_lookup(&made, repository, &oid),
        [&] { return "The tree " + id + " cannot be read"; });
  return Tree(made);
}

Tree tree_of_commit(git_repository* repository, const std::string& id) {
  const Commit commit = commit_of(repository, id);
  git_tree* made = nullptr;
  check(git_commit_tree(&made, commit.get()),
        [&] { return "The tree of commit " + id + " cannot be read"; });
  return Tree(made);
}

bool remove_old_lock(git_repository* repository, const std::string& ref) {
  if (!ref.starts_with("refs/tiffany/") && !ref.starts_with("refs/heads/tiffany/")) return false;
  constexpr std::int64_t kOldSeconds = 3;
  World& world = World::current();
  const std::optional<std::int64_t> now = world.wall_clock_us();
  const std::string lock = git_repository_commondir(repository) + ref + ".lock";
  struct stat about{};
  if (!now || world.files().status_of_link(lock.c_str(), about) != 0) return false;
  if (!S_ISREG(about.st_mode) || *now / 1'000'000 - about.st_mtime < kOldSeconds) return false;
  return world.files().remove(lock.c_str()) == 0;
}

bool is_shallow(git_repository* repository) { return git_repository_is_shallow(repository) == 1; }

}  // namespace tiffany::agent::git

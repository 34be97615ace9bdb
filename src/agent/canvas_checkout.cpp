// A canvas as files in a directory, for programs that need files; and what these have done, back.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/blob_pack.hpp"
#include "agent/canvas_path.hpp"
#include "agent/canvas_state.hpp"
#include "agent/git.hpp"
#include "base/shown_text.hpp"
#include "tiffany/agent/canvas.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"
#include "tiffany/io/descriptor.hpp"

namespace tiffany::agent {
namespace {

[[noreturn]] void directory_failed(const std::string& what, const std::string& path) {
  const std::string why = std::generic_category().message(errno);
  throw Error(Errc::canvas_failed, what + " " + detail::shown(path) + ": " + why + ".");
}

struct NamedEntry {
  std::string name;
  mode_t type;
};
class EntryList final : public WorldFiles::EntryVisitor {
 public:
  explicit EntryList(std::size_t most) noexcept : most_(most) {}
  bool on_entry(const char* name, mode_t type) override {
    entries.push_back({name, type});
    return entries.size() <= most_;
  }
  std::vector<NamedEntry> entries;

 private:
  std::size_t most_;
};

std::vector<NamedEntry> directory_entries(const std::string& directory, std::size_t most) {
  EntryList list(most);
  switch (World::current().files().list(directory.c_str(), list)) {
    case WorldFiles::Listed::cannot_open:
    case WorldFiles::Listed::cannot_read:
      directory_failed("The files cannot be listed in", directory);
    case WorldFiles::Listed::cut_short:
      refuse_ask("The directory " + detail::shown(directory) + " has more than " +
                 std::to_string(most) + " entries, which is the limit.");
    case WorldFiles::Listed::all:
      break;
  }
  std::sort(list.entries.begin(), list.entries.end(),
            [](const NamedEntry& a, const NamedEntry& b) { return a.name < b.name; });
  return std::move(list.entries);
}

// Links that lead out, and submodules: a checkout does not have them, and take_back leaves them.
bool left_out(const Canvas::State& state, const git_index_entry& entry) {
  if (entry.mode == GIT_FILEMODE_COMMIT) return true;
  if (entry.mode != GIT_FILEMODE_LINK) return false;
  constexpr std::uint64_t kLongestTarget = 4'096;
  if (state.size_of(entry.id, entry.path) > kLongestTarget) return true;
  return !link_stays_inside(entry.path, state.bytes_of(entry.id, entry.path));
}

std::set<std::string, std::less<>> all_left_out(const Canvas::State& state) {
  std::set<std::string, std::less<>> paths;
  for (std::size_t i = 0; i < git_index_entrycount(state.index.get()); ++i) {
    const git_index_entry& entry = *git_index_get_byindex(state.index.get(), i);
    if (left_out(state, entry)) paths.insert(entry.path);
  }
  return paths;
}

}  // namespace

void Canvas::checkout(const std::string& directory) const {
  WorldFiles& files = World::current().files();
  if (files.make_directory(directory.c_str()) != 0 && errno != EEXIST) {
    directory_failed("The directory cannot be made,", directory);
  }
  if (!directory_entries(directory, 1'000).empty()) {
    refuse_ask("The directory " + directory + " is not empty: files are put into an empty one.");
  }
  std::uint64_t bytes = 0;
  const std::size_t count = git_index_entrycount(state_->index.get());
  for (std::size_t i = 0; i < count; ++i) {
    const git_index_entry& entry = *git_index_get_byindex(state_->index.get(), i);
    if (entry.mode != GIT_FILEMODE_COMMIT) bytes += state_->size_of(entry.id, entry.path);
    if (bytes > state_->limits.directory_bytes) {
      refuse_ask("The files of the canvas have more than " +
                 std::to_string(state_->limits.directory_bytes) +
                 " bytes together, which is the limit of a directory.");
    }
  }

  // A tree without what is left out; nearly always that of the canvas.
  State shown{state_->path, state_->limits, git::open_unconfigured(state_->path), nullptr, {}};
  shown.load(state_->write_tree());
  for (const std::string& path : all_left_out(*state_)) shown.take_out(path);
  const git::Tree tree = git::tree_of(shown.repository.get(), shown.write_tree());
  git_index* made = nullptr;
  git::check(git_index_new(&made), "An index cannot be made");
  const git::Index nothing(made);  // what libgit2 thinks is in the directory
  git_checkout_options options{};
  git_checkout_options_init(&options, GIT_CHECKOUT_OPTIONS_VERSION);
  options.checkout_strategy = GIT_CHECKOUT_FORCE | GIT_CHECKOUT_DONT_UPDATE_INDEX |
                              GIT_CHECKOUT_DONT_WRITE_INDEX | GIT_CHECKOUT_NO_REFRESH;
  options.disable_filters = 1;
  options.baseline_index = made;
  options.target_directory = directory.c_str();
  git::check(git_checkout_tree(shown.repository.get(), reinterpret_cast<git_object*>(tree.get()),
                               &options),
             [&] { return "The files cannot be put into " + directory; });
}

namespace {

struct ChangedEntry {
  std::string path;
  git_oid blob;
  std::uint32_t mode;
};

// Compares a directory with a canvas.
class DirectoryScan {
 public:
  DirectoryScan(const Canvas::State& state, std::string directory)
      : state_(state),
        root_(std::move(directory)),
        kept_(all_left_out(state)),
        beside_(git::open_unconfigured(state.path)),
        blobs_(state.path) {
    WorldFiles& files = World::current().files();
    const Descriptor opened(files.open(root_.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    if (!opened) directory_failed("The files cannot be taken from", root_);
    real_root_ = files.path_of(opened.fd());
    // A handle of our own, told that the directory is its working tree: for .gitignore, and links.
    // Nothing of that is written down.
    git::check(git_repository_set_workdir(beside_.get(), root_.c_str(), 0),
               [&] { return "The directory " + root_ + " cannot be used"; });
  }

  void run() {
    scan("", 0);
    for (std::size_t i = 0; i < git_index_entrycount(state_.index.get()); ++i) {
      const std::string path = git_index_get_byindex(state_.index.get(), i)->path;
      if (!seen_.contains(path) && !kept_.contains(path)) note(removed, path);
    }
    blobs_.flush();
  }

  std::vector<ChangedEntry> written;
  std::vector<std::string> removed;
  std::size_t ignored = 0;

 private:
  template <class Changes, class Change>
  void note(Changes& changes, Change change) {
    changes.push_back(std::move(change));
    if (written.size() + removed.size() > state_.limits.changes) {
      refuse_ask("More than " + std::to_string(state_.limits.changes) + " files have changed in " +
                 root_ + ", which is the limit. Name what is generated in a .gitignore.");
    }
  }

  void scan(const std::string& directory, std::size_t depth) {  // NOLINT(misc-no-recursion)
    constexpr std::size_t kDeepest = 256;
    if (depth > kDeepest) refuse_ask(root_ + " has more than 256 directories in one another.");
    const std::vector<NamedEntry> entries =
        directory_entries(directory.empty() ? root_ : root_ + "/" + directory, state_.limits.files);
    check_ignore_file(directory, entries);
    for (const NamedEntry& entry : entries) {
      if (entry.name == ".git") continue;
      const std::string path = directory.empty() ? entry.name : directory + "/" + entry.name;
      if (is_ignored(path, S_ISDIR(entry.type))) {
        ++ignored;
        continue;
      }
      check_canvas_path(path);
      if (kept_.contains(path)) {
        refuse_ask(path +
                   " was left out of the directory, as a link that leads out or a "
                   "submodule, and now something else is there.");
      }
      if (S_ISDIR(entry.type)) {
        scan(path, depth + 1);
      } else {
        compare(path);
      }
    }
  }

  // libgit2 opens this file before it knows what it is, and would wait for ever for a pipe.
  void check_ignore_file(const std::string& directory, const std::vector<NamedEntry>& entries) {
    constexpr off_t kMostIgnoreBytes = off_t{1} << 20;
    for (const NamedEntry& entry : entries) {
      if (entry.name != ".gitignore") continue;
      const std::string path =
          root_ + "/" + (directory.empty() ? "" : directory + "/") + entry.name;
      struct stat about{};
      if (World::current().files().status_of_link(path.c_str(), about) != 0 ||
          !S_ISREG(about.st_mode) || about.st_size > kMostIgnoreBytes) {
        refuse_ask(detail::shown(path) + " is no file, or has more than 1 MiB.");
      }
    }
  }

  // What the canvas has is never ignored; nor is a directory that has some of it.
  bool is_ignored(const std::string& path, bool directory) {
    if (state_.find(path) != nullptr || (directory && state_.is_directory(path))) return false;
    int answer = 0;
    git::check(
        git_ignore_path_is_ignored(&answer, beside_.get(), (directory ? path + "/" : path).c_str()),
        [&] { return "The .gitignore for " + detail::shown(path) + " cannot be read"; });
    return answer == 1;
  }

  void compare(const std::string& path) {
    struct stat about{};
    if (World::current().files().status_of_link((root_ + "/" + path).c_str(), about) != 0) {
      directory_failed("The file cannot be looked at,", path);
    }
    if (seen_.size() >= state_.limits.files) {
      refuse_ask(root_ + " has more than " + std::to_string(state_.limits.files) +
                 " files, which is the limit.");
    }
    seen_.insert(path);
    ChangedEntry found{path, {}, kPlainMode};
    if (S_ISLNK(about.st_mode)) {
      found.mode = GIT_FILEMODE_LINK;
      found.blob = link_blob(path);
    } else if (S_ISREG(about.st_mode)) {
      if ((about.st_mode & S_IXUSR) != 0) found.mode = kExecutableMode;
      found.blob = file_blob(path);
    } else {
      refuse_ask(path + " is a socket, a pipe or a device, and no file.");
    }
    const git_index_entry* entry = state_.find(path);
    if (entry == nullptr || entry->mode != found.mode ||
        git_oid_equal(&entry->id, &found.blob) == 0) {
      note(written, std::move(found));
    }
  }

  git_oid link_blob(const std::string& path) {
    git_oid id{};
    git::check(git_blob_create_from_workdir(&id, beside_.get(), path.c_str()),
               [&] { return "The link " + path + " cannot be read"; });
    const std::string target = state_.bytes_of(id, path);
    if (!link_stays_inside(path, target)) {
      refuse_ask(path + " is a link to '" + detail::shown(target.substr(0, 200)) +
                 "', which leads out of the directory.");
    }
    const std::string name = path.substr(path.rfind('/') + 1);
    if (name.starts_with(".git")) {
      refuse_ask(path + " is a link, and git does not take links of that name.");
    }
    return id;
  }

  git_oid file_blob(const std::string& path) {
    std::string bytes = file_bytes(path);
    const git_index_entry* entry = state_.find(path);
    git_oid id{};
    git::check(git_odb_hash(&id, bytes.data(), bytes.size(), GIT_OBJECT_BLOB),
               "An id cannot be computed");
    if (entry != nullptr && git_oid_equal(&entry->id, &id) == 1) return id;
    if (bytes.size() > state_.limits.file_bytes) {
      refuse_ask(path + " has " + std::to_string(bytes.size()) + " bytes, and at most " +
                 std::to_string(state_.limits.file_bytes) + " are taken.");
    }
    return blobs_.add(std::move(bytes));
  }

  std::string file_bytes(const std::string& path) {
    WorldFiles& files = World::current().files();
    const std::string full = root_ + "/" + path;
    const Descriptor file(files.open(full.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file) directory_failed("The file cannot be opened,", path);
    struct stat about{};
    if (files.status(file.fd(), about) != 0) directory_failed("The file cannot be read,", path);
    // Somebody may have put a link in the place of a directory or of the file meanwhile.
    const std::string where = files.path_of(file.fd());
    const bool elsewhere =
        !where.empty() && !real_root_.empty() && where != real_root_ + "/" + path;
    if (!S_ISREG(about.st_mode) || elsewhere) {
      refuse_ask(path + " was replaced while it was read. No program may work in the directory.");
    }
    bytes_ += static_cast<std::uint64_t>(about.st_size);
    if (bytes_ > state_.limits.directory_bytes) {
      refuse_ask("The files in " + root_ + " have more than " +
                 std::to_string(state_.limits.directory_bytes) + " bytes together.");
    }
    std::string bytes(static_cast<std::size_t>(about.st_size), '\0');
    std::size_t got = 0;
    while (got < bytes.size()) {
      const ssize_t n = files.read(file.fd(), bytes.data() + got, bytes.size() - got);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) directory_failed("The file cannot be read,", path);
      if (n == 0) break;
      got += static_cast<std::size_t>(n);
    }
    bytes.resize(got);
    return bytes;
  }

  const Canvas::State& state_;
  std::string root_;
  std::string real_root_;
  std::set<std::string, std::less<>> kept_;
  git::Repository beside_;
  BlobPack blobs_;
  std::set<std::string, std::less<>> seen_;
  std::uint64_t bytes_ = 0;
};

}  // namespace

TakenBack Canvas::take_back(const std::string& directory) {
  DirectoryScan scan(*state_, directory);
  scan.run();
  TakenBack taken;
  taken.ignored = scan.ignored;
  const std::string before = state_->write_tree();
  try {
    for (const std::string& path : scan.removed) state_->take_out(path);
    for (const ChangedEntry& each : scan.written) state_->put(each.path, each.blob, each.mode);
  } catch (...) {
    state_->load(before);
    throw;
  }
  taken.removed = std::move(scan.removed);
  for (ChangedEntry& each : scan.written) taken.written.push_back(std::move(each.path));
  return taken;
}

}  // namespace tiffany::agent

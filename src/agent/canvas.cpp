#include "tiffany/agent/canvas.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "agent/canvas_path.hpp"
#include "agent/canvas_state.hpp"
#include "agent/git.hpp"
#include "base/shown_text.hpp"
#include "base/utf8.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {

void refuse_ask(const std::string& sentence) { throw Error(Errc::bad_argument, sentence); }

bool is_binary(std::string_view bytes) {
  return bytes.find('\0') != std::string_view::npos || !detail::is_utf8(bytes);
}

namespace {

// Occurrences may overlap: each is a place that the caller may have meant.
std::vector<std::size_t> places_of(std::string_view text, std::string_view wanted) {
  std::vector<std::size_t> places;
  for (std::size_t at = text.find(wanted); at != std::string_view::npos;
       at = text.find(wanted, at + 1)) {
    places.push_back(at);
  }
  return places;
}

std::string lines_of(std::string_view text, const std::vector<std::size_t>& places) {
  constexpr std::size_t kShown = 5;
  std::string lines;
  for (std::size_t i = 0; i < std::min(places.size(), kShown); ++i) {
    const auto before = text.substr(0, places[i]);
    lines +=
        (i == 0 ? "" : ", ") + std::to_string(std::count(before.begin(), before.end(), '\n') + 1);
  }
  return lines + (places.size() > kShown ? ", ..." : "");
}

bool is_plain_entry(const git_index_entry& entry) {
  return entry.mode == kPlainMode || entry.mode == kExecutableMode;
}

CanvasKind kind_of_entry(const git_index_entry& entry) {
  if (entry.mode == GIT_FILEMODE_LINK) return CanvasKind::link;
  if (entry.mode == GIT_FILEMODE_COMMIT) return CanvasKind::submodule;
  return CanvasKind::file;
}

}  // namespace

// ---- State ----

const git_index_entry* Canvas::State::find(const std::string& file) const {
  return git_index_get_bypath(index.get(), file.c_str(), 0);
}

std::size_t Canvas::State::first_below(const std::string& directory) const {
  if (directory.empty()) return 0;
  std::size_t at = 0;
  if (git_index_find_prefix(&at, index.get(), (directory + "/").c_str()) < 0) {
    return git_index_entrycount(index.get());
  }
  return at;
}

bool Canvas::State::is_directory(const std::string& file) const {
  return file.empty() || first_below(file) < git_index_entrycount(index.get());
}

std::uint64_t Canvas::State::size_of(const git_oid& blob, const std::string& file) const {
  git_odb* made = nullptr;
  git::check(git_repository_odb(&made, repository.get()), "The objects cannot be opened");
  const git::Odb odb(made);
  std::size_t size = 0;
  git_object_t type = GIT_OBJECT_INVALID;
  git::check(git_odb_read_header(&size, &type, odb.get(), &blob),
             [&] { return "The content of " + file + " cannot be read"; });
  return size;
}

std::string Canvas::State::bytes_of(const git_oid& blob, const std::string& file) const {
  git_blob* made = nullptr;
  git::check(git_blob_lookup(&made, repository.get(), &blob),
             [&] { return "The content of " + file + " cannot be read"; });
  const git::Blob owned(made);
  return std::string(static_cast<const char*>(git_blob_rawcontent(made)),
                     static_cast<std::size_t>(git_blob_rawsize(made)));
}

git_oid Canvas::State::store(std::string_view bytes, const std::string& file) const {
  git_oid id{};
  git::check(git_blob_create_from_buffer(&id, repository.get(), bytes.data(), bytes.size()),
             [&] { return "The content of " + file + " cannot be written"; });
  return id;
}

// libgit2 would put a file in the place of a directory, and the other way round: both are refused.
void Canvas::State::put(const std::string& file, const git_oid& blob, std::uint32_t mode) {
  for (std::size_t at = file.find('/'); at != std::string::npos; at = file.find('/', at + 1)) {
    const std::string above = file.substr(0, at);
    if (find(above) != nullptr) {
      refuse_ask("The file " + file + " cannot be written: " + above + " is no directory.");
    }
  }
  if (is_directory(file)) refuse_ask("The file " + file + " cannot be written: it is a directory.");
  if (find(file) == nullptr && git_index_entrycount(index.get()) >= limits.files) {
    refuse_ask("The file " + file + " cannot be written: the canvas has " +
               std::to_string(limits.files) + " files, which is its limit.");
  }
  git_index_entry entry{};
  entry.mode = mode;
  entry.id = blob;
  entry.path = file.c_str();
  git::check(git_index_add(index.get(), &entry),
             [&] { return "The file " + file + " cannot be put into the canvas"; });
}

void Canvas::State::take_out(const std::string& file) {
  git::check(git_index_remove(index.get(), file.c_str(), 0),
             [&] { return "The file " + file + " cannot be taken out of the canvas"; });
}

// ---- Files ----

Canvas::Canvas(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Canvas::Canvas(Canvas&& other) noexcept = default;
Canvas& Canvas::operator=(Canvas&& other) noexcept = default;
Canvas::~Canvas() = default;

const std::string& Canvas::base() const noexcept { return state_->base; }
const std::string& Canvas::repository() const noexcept { return state_->path; }
const CanvasLimits& Canvas::limits() const noexcept { return state_->limits; }

bool Canvas::has(const std::string& path) const {
  return canvas_path_problem(path).empty() && state_->find(path) != nullptr;
}

CanvasFile Canvas::read(const std::string& path) const {
  check_canvas_path(path);
  const git_index_entry* entry = state_->find(path);
  if (entry == nullptr) {
    if (state_->is_directory(path)) refuse_ask(path + " is a directory: list it.");
    refuse_ask("There is no file " + path + ".");
  }
  if (entry->mode == GIT_FILEMODE_COMMIT) {
    refuse_ask(path + " is a submodule, whose files are not in this repository.");
  }
  const std::uint64_t size = state_->size_of(entry->id, path);
  if (size > state_->limits.file_bytes) {
    refuse_ask(path + " has " + std::to_string(size) + " bytes, and at most " +
               std::to_string(state_->limits.file_bytes) + " are read.");
  }
  CanvasFile file;
  file.bytes = state_->bytes_of(entry->id, path);
  if (entry->mode == GIT_FILEMODE_LINK) {
    refuse_ask(path + " is a symbolic link to '" + detail::shown(file.bytes.substr(0, 200)) +
               "', and links are not followed.");
  }
  file.executable = entry->mode == kExecutableMode;
  file.binary = is_binary(file.bytes);
  return file;
}

void Canvas::write(const std::string& path, std::string_view text, std::optional<bool> executable) {
  check_canvas_path(path);
  if (text.size() > state_->limits.file_bytes) {
    refuse_ask(path + " would have " + std::to_string(text.size()) + " bytes, and at most " +
               std::to_string(state_->limits.file_bytes) + " are written.");
  }
  const git_index_entry* entry = state_->find(path);
  if (entry != nullptr && !is_plain_entry(*entry)) {
    refuse_ask(path + " is a symbolic link or a submodule, and is not written through.");
  }
  const bool was = entry != nullptr && entry->mode == kExecutableMode;
  const git_oid blob = state_->store(text, path);
  state_->put(path, blob, executable.value_or(was) ? kExecutableMode : kPlainMode);
}

void Canvas::edit(const std::string& path, std::string_view old_text, std::string_view new_text) {
  CanvasFile file = read(path);
  if (file.binary) refuse_ask(path + " is a binary file: write it as a whole.");
  if (old_text.empty()) {
    refuse_ask("The text to be replaced in " + path + " is empty. Name a text that is there once.");
  }
  const std::vector<std::size_t> places = places_of(file.bytes, old_text);
  if (places.empty()) {
    throw Error(Errc::canvas_conflict,
                "The text to be replaced is 0 times in " + path +
                    ". It must be there exactly once, with the same blanks and line ends.");
  }
  if (places.size() > 1) {
    throw Error(Errc::canvas_conflict, "The text to be replaced is " +
                                           std::to_string(places.size()) + " times in " + path +
                                           " (lines " + lines_of(file.bytes, places) +
                                           "). Give more of its surroundings, so that it is there "
                                           "exactly once.");
  }
  file.bytes.replace(places.front(), old_text.size(), new_text);
  write(path, file.bytes);
}

void Canvas::remove(const std::string& path) {
  check_canvas_path(path);
  const git_index_entry* entry = state_->find(path);
  if (entry == nullptr) {
    if (state_->is_directory(path)) refuse_ask(path + " is a directory: remove its files.");
    refuse_ask("There is no file " + path + ".");
  }
  if (entry->mode == GIT_FILEMODE_COMMIT) refuse_ask(path + " is a submodule, and stays.");
  state_->take_out(path);
}

void Canvas::rename(const std::string& from, const std::string& to) {
  check_canvas_path(from);
  check_canvas_path(to);
  const git_index_entry* entry = state_->find(from);
  if (entry == nullptr) {
    if (state_->is_directory(from)) refuse_ask(from + " is a directory: rename its files.");
    refuse_ask("There is no file " + from + ".");
  }
  // In another directory a link would lead somewhere else.
  const auto directory = [](const std::string& path) {
    return path.substr(0, path.rfind('/') + 1);
  };
  const bool link_stays = entry->mode == GIT_FILEMODE_LINK && directory(from) == directory(to);
  if (!is_plain_entry(*entry) && !link_stays) {
    refuse_ask(from + " is a symbolic link or a submodule, and stays in its directory.");
  }
  if (state_->find(to) != nullptr) {
    refuse_ask(from + " cannot be renamed: " + to + " is there already.");
  }
  const git_oid blob = entry->id;
  const std::uint32_t mode = entry->mode;
  state_->take_out(from);  // `to` may be the directory that it was alone in, or below its name
  try {
    state_->put(to, blob, mode);
  } catch (...) {
    state_->put(from, blob, mode);
    throw;
  }
}

// ---- Lists ----

CanvasListing Canvas::list(const std::string& directory, const std::string& pattern,
                           std::size_t most) const {
  if (!directory.empty()) check_canvas_path(directory);
  if (!state_->is_directory(directory)) {
    if (state_->find(directory) != nullptr) refuse_ask(directory + " is no directory.");
    refuse_ask("There is no directory " + directory + ".");
  }
  const std::string prefix = directory.empty() ? "" : directory + "/";
  CanvasListing listing;
  const std::size_t count = git_index_entrycount(state_->index.get());
  for (std::size_t at = state_->first_below(directory); at < count; ++at) {
    const git_index_entry& entry = *git_index_get_byindex(state_->index.get(), at);
    const std::string_view path(entry.path);
    if (!path.starts_with(prefix)) break;
    const std::string_view rest = path.substr(prefix.size());
    CanvasEntry found{std::string(path), kind_of_entry(entry), entry.mode == kExecutableMode};
    if (!pattern.empty()) {
      if (!glob_matches(pattern, rest)) continue;
    } else if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
      found = {prefix + std::string(rest.substr(0, slash)), CanvasKind::directory, false};
      if (!listing.entries.empty() && listing.entries.back().path == found.path) continue;
    }
    if (listing.entries.size() == most) {
      listing.cut = true;
      break;
    }
    listing.entries.push_back(std::move(found));
  }
  // The index has "a-b" before what is in "a/".
  std::sort(listing.entries.begin(), listing.entries.end(),
            [](const CanvasEntry& a, const CanvasEntry& b) { return a.path < b.path; });
  return listing;
}

void Canvas::visit(const std::string& directory,
                   const std::function<bool(const std::string& path)>& each) const {
  if (!directory.empty()) check_canvas_path(directory);
  const std::string prefix = directory.empty() ? "" : directory + "/";
  const std::size_t count = git_index_entrycount(state_->index.get());
  for (std::size_t at = state_->first_below(directory); at < count; ++at) {
    const git_index_entry& entry = *git_index_get_byindex(state_->index.get(), at);
    const std::string path(entry.path);
    if (!path.starts_with(prefix)) break;
    if (is_plain_entry(entry) && !each(path)) break;
  }
}

}  // namespace tiffany::agent

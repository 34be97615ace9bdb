#include "agent/blob_pack.hpp"

#include <git2/sys/mempack.h>
#include <git2/sys/odb_backend.h>

namespace tiffany::agent {

git_oid BlobPack::add(std::string bytes) {
  git_oid id{};
  git::check(git_odb_hash(&id, bytes.data(), bytes.size(), GIT_OBJECT_BLOB),
             "An id cannot be computed");
  bytes_ += bytes.size();
  held_.emplace_back(id, std::move(bytes));
  if (bytes_ > kMostBytes) flush();
  return id;
}

void BlobPack::flush() {
  if (held_.empty()) return;
  const git::Repository repository = git::open_unconfigured(repository_);
  git_odb* made = nullptr;
  git::check(git_repository_odb(&made, repository.get()), "The objects cannot be opened");
  const git::Odb odb(made);
  if (held_.size() < kFewest) {
    write_loose(made);
  } else {
    write_pack(repository.get(), made);
  }
  held_.clear();
  bytes_ = 0;
}

void BlobPack::write_loose(git_odb* odb) {
  for (const auto& [id, bytes] : held_) {
    git_oid written{};
    git::check(git_odb_write(&written, odb, bytes.data(), bytes.size(), GIT_OBJECT_BLOB),
               "The contents of changed files cannot be written");
  }
}

// The objects are in memory first, for this handle alone; the pack is made of them.
void BlobPack::write_pack(git_repository* repository, git_odb* odb) {
  const std::string what = "The contents of changed files cannot be written";
  git_odb_backend* memory = nullptr;
  git::check(git_mempack_new(&memory), what);
  constexpr int kBeforeAllOthers = 1'000;
  if (const int code = git_odb_add_backend(odb, memory, kBeforeAllOthers); code < 0) {
    memory->free(memory);
    git::fail(what, code);
  }
  write_loose(odb);
  git_packbuilder* made = nullptr;
  git::check(git_packbuilder_new(&made, repository), what);
  const git::Owned<git_packbuilder, git_packbuilder_free> pack(made);
  git_packbuilder_set_threads(made, 1);
  for (const auto& each : held_) {
    git::check(git_packbuilder_insert(made, &each.first, nullptr), what);
  }
  git::check(git_packbuilder_write(made, nullptr, 0, nullptr, nullptr), what);
}

}  // namespace tiffany::agent

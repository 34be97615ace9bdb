// What a Canvas is made of, for the sources that implement it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "agent/git.hpp"
#include "tiffany/agent/canvas.hpp"

namespace tiffany::agent {

struct Canvas::State {
  std::string path;
  CanvasLimits limits;
  git::Repository repository;
  git::Index index;  // in memory: no file, and no repository of its own
  std::string base;  // empty: no commit

  // Null: there is none.
  const git_index_entry* find(const std::string& file) const;
  bool is_directory(const std::string& file) const;
  // Position of the first entry below "directory/"; of all for the root.
  std::size_t first_below(const std::string& directory) const;
  std::uint64_t size_of(const git_oid& blob, const std::string& file) const;
  std::string bytes_of(const git_oid& blob, const std::string& file) const;
  git_oid store(std::string_view bytes, const std::string& file) const;
  void put(const std::string& file, const git_oid& blob, std::uint32_t mode);
  void take_out(const std::string& file);
  // Refuses a tree of too many files, before its entries are in memory.
  void load(const std::string& id);
  std::string write_tree() const;
  git::Tree base_tree() const;  // null: there is no base
};

// An Error bad_argument.
[[noreturn]] void refuse_ask(const std::string& sentence);

inline constexpr std::uint32_t kPlainMode = GIT_FILEMODE_BLOB;
inline constexpr std::uint32_t kExecutableMode = GIT_FILEMODE_BLOB_EXECUTABLE;

bool is_binary(std::string_view bytes);
// refs/tiffany/<task>/canvas; an Error bad_argument for what cannot be a part of a ref.
std::string canvas_ref(const std::string& task);

}  // namespace tiffany::agent

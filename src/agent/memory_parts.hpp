// What the sources of the memory share.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/memory_file.hpp"
#include "agent/memory_vectors.hpp"
#include "tiffany/agent/memory.hpp"

namespace tiffany::agent {

struct Memory::Parts {
  Parts(std::string path, const MemoryOptions& options) : file(std::move(path), options) {}

  // Inside of a transaction that writes. Gives the id.
  std::string remember(const Note& note);
  void link(std::string_view from, const std::vector<std::string>& see);
  std::int64_t key_of(std::string_view id);  // 0: there is none
  void remove(std::int64_t key);
  // Times of a note are those of its origins.
  void settle_times(std::int64_t key);
  void mark_recalled(std::string_view task, std::string_view text, std::int64_t at_us);
  Recalled read(std::int64_t key);
  MemoryPage page_of(Statement& find, std::size_t most);  // whose last value is the limit
  // 0: there is no vector of it.
  std::int64_t space_of(std::string_view model, std::size_t dimension);
  void store_vector(std::int64_t key, std::string_view model, std::span<const std::int8_t> vector);
  std::vector<MemorySpace> spaces();
  // Inside of a transaction: the vectors are those of that model and dimension, and what another
  // process has stored is there, too.
  void refresh_vectors(std::string_view model, std::size_t dimension);
  void read_vectors(std::int64_t space);
  void read_touched(std::int64_t space);
  void touch(std::int64_t key);

  std::mutex one_at_a_time;
  MemoryFile file;
  MemoryVectors vectors;
  std::string vectors_model;          // whose they are
  std::int64_t vectors_version = -1;  // data_version that the vectors are of
  bool vectors_stale = true;
  // Notes that this object has written or tried to write since: they are read again before the
  // next scan, and so are as the file says, whatever became of the transaction.
  std::vector<std::int64_t> touched;
};

// 32 digits that name a text of a kind.
std::string note_id(std::string_view kind, std::string_view text);
// Of a text without regard to white space.
std::string recalled_digest(std::string_view text);
// Errc::bad_argument.
void require_note(const Note& note);
void require_kind(std::string_view kind);
void require_vector(std::string_view model, std::span<const std::int8_t> vector);
void require_note_text(std::string_view what, std::string_view text, std::size_t most);
inline constexpr std::size_t kLongestOrigin = 256;
// The words of a query as FTS5 takes them, each one quoted.
std::vector<std::string> words_of_query(std::string_view text);

}  // namespace tiffany::agent

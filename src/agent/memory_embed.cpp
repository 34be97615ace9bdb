// Vectors of notes in the file: of one space for each model and dimension.
#include "agent/memory_parts.hpp"
#include "tiffany/agent/memory.hpp"
#include "tiffany/base/error.hpp"

namespace tiffany::agent {
namespace {

// The first vector decides, for those of programs; a model has a space for each dimension.
void require_dimension(MemoryFile& file, std::int64_t size) {
  const std::int64_t own =
      file.number("SELECT coalesce(max(dimension), 0) FROM spaces WHERE model = ''");
  if (own == 0 || own == size) return;
  throw Error(Errc::bad_argument, "The vector of a note has " + std::to_string(size) +
                                      " numbers, and those of this memory have " +
                                      std::to_string(own) + ".");
}

// Behind FROM nodes n: those that are to be embedded.
constexpr const char* kWithoutVector =
    "WHERE (n.expires_us = 0 OR n.expires_us > ?) AND NOT EXISTS("
    "SELECT 1 FROM vectors v JOIN spaces s ON s.key = v.space "
    "WHERE v.node = n.key AND s.model = ? AND s.dimension = ?) ";

}  // namespace

void require_vector(std::string_view model, std::span<const std::int8_t> vector) {
  if (vector.size() > MemoryLimits::kDimension) {
    throw Error(Errc::bad_argument, "The vector of a note has more than " +
                                        std::to_string(MemoryLimits::kDimension) + " numbers.");
  }
  if (!model.empty()) require_note_text("The model of a vector", model, kLongestOrigin);
}

std::int64_t Memory::Parts::space_of(std::string_view model, std::size_t dimension) {
  Statement find(file, "SELECT key FROM spaces WHERE model = ? AND dimension = ?");
  find.bind(model).bind(static_cast<std::int64_t>(dimension));
  return find.next() ? find.integer(0) : 0;
}

void Memory::Parts::store_vector(std::int64_t key, std::string_view model,
                                 std::span<const std::int8_t> vector) {
  const auto size = static_cast<std::int64_t>(vector.size());
  if (model.empty()) require_dimension(file, size);
  Statement(file, "INSERT OR IGNORE INTO spaces(model, dimension) VALUES(?, ?)")
      .bind(model)
      .bind(size)
      .run();
  Statement(file, "INSERT OR REPLACE INTO vectors VALUES(?, ?, ?)")
      .bind(key)
      .bind(space_of(model, vector.size()))
      .bind(vector)
      .run();
}

std::vector<MemorySpace> Memory::Parts::spaces() {
  std::vector<MemorySpace> all;
  Statement each(file,
                 "SELECT s.model, s.dimension, count(v.node) FROM spaces s "
                 "LEFT JOIN vectors v ON v.space = s.key GROUP BY s.key "
                 "ORDER BY s.model, s.dimension");
  while (each.next()) {
    MemorySpace& space = all.emplace_back();
    space.model = each.text(0);
    space.dimension = each.integer(1);
    space.vectors = each.integer(2);
  }
  return all;
}

MemoryPage Memory::without_vector(std::string_view model, std::size_t dimension,
                                  std::int64_t now_us, std::int64_t after, std::size_t most) {
  const std::lock_guard turn(parts_->one_at_a_time);
  const Transaction transaction(parts_->file, Transaction::For::reading);
  Statement find(parts_->file, "SELECT n.key FROM nodes n " + std::string(kWithoutVector) +
                                   "AND n.key > ? ORDER BY n.key LIMIT ?");
  find.bind(now_us).bind(model).bind(static_cast<std::int64_t>(dimension)).bind(after);
  return parts_->page_of(find, most);
}

std::int64_t Memory::count_without_vector(std::string_view model, std::size_t dimension,
                                          std::int64_t now_us) {
  const std::lock_guard turn(parts_->one_at_a_time);
  Statement count(parts_->file, "SELECT count(*) FROM nodes n " + std::string(kWithoutVector));
  count.bind(now_us).bind(model).bind(static_cast<std::int64_t>(dimension));
  return count.next() ? count.integer(0) : 0;
}

std::int64_t Memory::embed(std::string_view model, const std::vector<MemoryVector>& vectors) {
  for (const MemoryVector& each : vectors) {
    require_vector(model, each.vector);
    if (each.vector.empty()) throw Error(Errc::bad_argument, "The vector of a note is empty.");
  }
  const std::lock_guard turn(parts_->one_at_a_time);
  Transaction transaction(parts_->file, Transaction::For::writing);
  parts_->file.require_room();
  std::int64_t stored = 0;
  for (const MemoryVector& each : vectors) {
    const std::int64_t key = parts_->key_of(each.id);
    if (key == 0) continue;
    parts_->store_vector(key, model, each.vector);
    parts_->touch(key);
    ++stored;
  }
  transaction.commit();
  return stored;
}

}  // namespace tiffany::agent

#include "tiffany/agent/memory.hpp"

#include <algorithm>

#include "agent/memory_parts.hpp"
#include "base/utf8.hpp"
#include "tiffany/base/error.hpp"
#include "tiffany/base/sha256.hpp"

namespace tiffany::agent {
namespace {

constexpr std::size_t kIdDigits = 32;
constexpr std::int64_t kDayUs = std::int64_t{24} * 3600 * 1'000'000;
// How long a task must not remember what it recalled: longer than tasks live.
constexpr std::int64_t kRecalledUs = 365 * kDayUs;

}  // namespace

void require_note_text(std::string_view what, std::string_view text, std::size_t most) {
  std::string mistake;
  if (text.empty()) mistake = "is empty.";
  if (text.size() > most) {
    mistake =
        "has " + std::to_string(text.size()) + " bytes, and may have " + std::to_string(most) + ".";
  }
  if (text.find('\0') != std::string_view::npos) mistake = "has a character NUL.";
  if (!tiffany::detail::is_utf8(text)) mistake = "is not UTF-8.";
  if (!mistake.empty()) throw Error(Errc::bad_argument, std::string(what) + " " + mistake);
}

void require_note(const Note& note) {
  require_kind(note.kind);
  require_note_text("The text of a note", note.text, MemoryLimits::kText);
  if (!note.task.empty()) require_note_text("The task of a note", note.task, kLongestOrigin);
  if (!note.step.empty()) require_note_text("The step of a note", note.step, kLongestOrigin);
  if (note.made_us < 0 || note.expires_us < 0) {
    throw Error(Errc::bad_argument, "A note has a time before 1970.");
  }
  if (note.see.size() > MemoryLimits::kLinks) {
    throw Error(Errc::bad_argument,
                "A note names more than " + std::to_string(MemoryLimits::kLinks) + " other notes.");
  }
  for (const std::string& id : note.see) require_note_text("The id of a note", id, kLongestOrigin);
  require_vector(note.model, note.vector);
}

void require_kind(std::string_view kind) {
  require_note_text("The kind of a note or an edge", kind, MemoryLimits::kKind);
}

std::string note_id(std::string_view kind, std::string_view text) {
  std::string both(kind);
  both += '\0';
  both += text;
  return sha256_hex(both).substr(0, kIdDigits);
}

std::string recalled_digest(std::string_view text) {
  std::string words;
  for (const char each : text) {
    const bool space = each == ' ' || (each >= '\t' && each <= '\r');
    if (!space) words += each;
  }
  return sha256_hex(words).substr(0, kIdDigits);
}

std::int64_t Memory::Parts::key_of(std::string_view id) {
  Statement find(file, "SELECT key FROM nodes WHERE id = ?");
  return find.bind(id).next() ? find.integer(0) : 0;
}

void Memory::Parts::settle_times(std::int64_t key) {
  Statement(file,
            "UPDATE nodes SET (made_us, expires_us) = "
            "(SELECT min(made_us), iif(min(expires_us) = 0, 0, max(expires_us)) "
            "FROM origins WHERE node = nodes.key) WHERE key = ?")
      .bind(key)
      .run();
}

std::string Memory::Parts::remember(const Note& note) {
  const std::string id = note_id(note.kind, note.text);
  std::int64_t key = key_of(id);
  if (key == 0) {
    Statement(file, "INSERT INTO nodes(id, kind, text, made_us, expires_us) VALUES(?, ?, ?, 0, 0)")
        .bind(id)
        .bind(note.kind)
        .bind(note.text)
        .run();
    key = file.last_key();
    Statement(file, "INSERT INTO texts(rowid, text) VALUES(?, ?)").bind(key).bind(note.text).run();
  }
  Statement(file, "INSERT OR IGNORE INTO origins VALUES(?, ?, ?, ?, ?)")
      .bind(key)
      .bind(note.task)
      .bind(note.step)
      .bind(note.made_us)
      .bind(note.expires_us)
      .run();
  if (file.changes() != 0) settle_times(key);
  if (!note.vector.empty()) store_vector(key, note.model, note.vector);
  touch(key);
  return id;
}

void Memory::Parts::link(std::string_view from, const std::vector<std::string>& see) {
  for (const std::string& to : see) {
    if (to == from) continue;
    Statement(file,
              "INSERT OR IGNORE INTO edges SELECT a.key, b.key, 'see' FROM nodes a, nodes b "
              "WHERE a.id = ? AND b.id = ?")
        .bind(from)
        .bind(to)
        .run();
  }
}

void Memory::Parts::remove(std::int64_t key) {
  Statement(file,
            "INSERT INTO texts(texts, rowid, text) SELECT 'delete', key, text FROM nodes "
            "WHERE key = ?")
      .bind(key)
      .run();
  Statement(file, "DELETE FROM nodes WHERE key = ?").bind(key).run();
  touch(key);
}

void Memory::Parts::mark_recalled(std::string_view task, std::string_view text,
                                  std::int64_t at_us) {
  Statement(file, "INSERT OR IGNORE INTO recalled VALUES(?, ?, ?)")
      .bind(task)
      .bind(recalled_digest(text))
      .bind(at_us)
      .run();
}

Recalled Memory::Parts::read(std::int64_t key) {
  Recalled note;
  Statement find(file, "SELECT id, kind, text, made_us, expires_us FROM nodes WHERE key = ?");
  if (!find.bind(key).next()) return note;
  note.id = find.text(0);
  note.kind = find.text(1);
  note.text = find.text(2);
  note.made_us = find.integer(3);
  note.expires_us = find.integer(4);
  Statement from(file,
                 "SELECT task, step, made_us, expires_us FROM origins WHERE node = ? "
                 "ORDER BY made_us DESC, task, step LIMIT ?");
  from.bind(key).bind(static_cast<std::int64_t>(MemoryLimits::kOrigins));
  while (from.next()) {
    Origin& origin = note.origins.emplace_back();
    origin.task = from.text(0);
    origin.step = from.text(1);
    origin.made_us = from.integer(2);
    origin.expires_us = from.integer(3);
  }
  return note;
}

Memory::Memory(std::string path, MemoryOptions options)
    : parts_(std::make_unique<Parts>(std::move(path), options)) {}
Memory::~Memory() = default;

std::string Memory::remember(const Note& note) {
  require_note(note);
  const std::lock_guard turn(parts_->one_at_a_time);
  Transaction transaction(parts_->file, Transaction::For::writing);
  parts_->file.require_room();
  std::string id = parts_->remember(note);
  parts_->link(id, note.see);
  transaction.commit();
  return id;
}

bool Memory::was_recalled(std::string_view task, std::string_view text) {
  const std::lock_guard turn(parts_->one_at_a_time);
  Statement find(parts_->file, "SELECT 1 FROM recalled WHERE task = ? AND digest = ?");
  return find.bind(task).bind(recalled_digest(text)).next();
}

bool Memory::connect(std::string_view from, std::string_view to, std::string_view kind) {
  require_kind(kind);
  const std::lock_guard turn(parts_->one_at_a_time);
  Transaction transaction(parts_->file, Transaction::For::writing);
  const std::int64_t a = parts_->key_of(from);
  const std::int64_t b = parts_->key_of(to);
  if (a == 0 || b == 0) return false;
  Statement(parts_->file, "INSERT OR IGNORE INTO edges VALUES(?, ?, ?)")
      .bind(a)
      .bind(b)
      .bind(kind)
      .run();
  const bool added = parts_->file.changes() != 0;
  transaction.commit();
  return added;
}

bool Memory::forget(std::string_view id, std::int64_t now_us) {
  const std::lock_guard turn(parts_->one_at_a_time);
  Transaction transaction(parts_->file, Transaction::For::writing);
  const std::int64_t key = parts_->key_of(id);
  if (key == 0) return false;
  parts_->remove(key);
  Statement(parts_->file, "INSERT OR REPLACE INTO forgotten VALUES(?, ?)")
      .bind(id)
      .bind(now_us)
      .run();
  transaction.commit();
  return true;
}

std::int64_t Memory::expire(std::int64_t now_us) {
  const std::lock_guard turn(parts_->one_at_a_time);
  Transaction transaction(parts_->file, Transaction::For::writing);
  std::vector<std::int64_t> gone;
  {
    Statement find(parts_->file, "SELECT key FROM nodes WHERE expires_us > 0 AND expires_us <= ?");
    find.bind(now_us);
    while (find.next()) gone.push_back(find.integer(0));
  }
  for (const std::int64_t key : gone) parts_->remove(key);
  Statement(parts_->file, "DELETE FROM recalled WHERE at_us < ?").bind(now_us - kRecalledUs).run();
  transaction.commit();
  return static_cast<std::int64_t>(gone.size());
}

// One more than the page has is asked for, to know whether there is another one.
MemoryPage Memory::Parts::page_of(Statement& find, std::size_t most) {
  most = std::clamp<std::size_t>(most, 1, MemoryLimits::kResults);
  std::vector<std::int64_t> keys;
  find.bind(static_cast<std::int64_t>(most) + 1);
  while (find.next()) keys.push_back(find.integer(0));
  MemoryPage page;
  const bool more = keys.size() > most;
  if (more) keys.pop_back();
  for (const std::int64_t key : keys) page.notes.push_back(read(key));
  if (more) page.next = keys.back();
  return page;
}

MemoryPage Memory::list(std::int64_t after, std::size_t most) {
  const std::lock_guard turn(parts_->one_at_a_time);
  const Transaction transaction(parts_->file, Transaction::For::reading);
  Statement find(parts_->file, "SELECT key FROM nodes WHERE key > ? ORDER BY key LIMIT ?");
  find.bind(after);
  return parts_->page_of(find, most);
}

std::optional<Recalled> Memory::find(std::string_view id) {
  const std::lock_guard turn(parts_->one_at_a_time);
  const Transaction transaction(parts_->file, Transaction::For::reading);
  if (!tiffany::detail::is_utf8(id)) return std::nullopt;
  const std::int64_t key = parts_->key_of(id);
  if (key == 0) return std::nullopt;
  return parts_->read(key);
}

std::vector<MemoryEdge> Memory::edges(const std::vector<std::string>& ids) {
  const std::lock_guard turn(parts_->one_at_a_time);
  const Transaction transaction(parts_->file, Transaction::For::reading);
  Statement find(parts_->file,
                 "WITH wanted AS (SELECT n.key FROM nodes n JOIN json_each(?) w ON w.value = n.id) "
                 "SELECT a.id, b.id, e.kind FROM edges e JOIN nodes a ON a.key = e.a "
                 "JOIN nodes b ON b.key = e.b WHERE e.a IN wanted OR e.b IN wanted "
                 "ORDER BY e.a, e.b, e.kind LIMIT ?");
  find.bind(to_json(ids)).bind(static_cast<std::int64_t>(MemoryLimits::kNeighbours));
  std::vector<MemoryEdge> found;
  while (find.next()) {
    MemoryEdge& edge = found.emplace_back();
    edge.from = find.text(0);
    edge.to = find.text(1);
    edge.kind = find.text(2);
  }
  return found;
}

MemoryCounts Memory::counts() {
  const std::lock_guard turn(parts_->one_at_a_time);
  MemoryFile& file = parts_->file;
  const Transaction transaction(file, Transaction::For::reading);
  MemoryCounts counts;
  counts.notes = file.number("SELECT count(*) FROM nodes");
  counts.origins = file.number("SELECT count(*) FROM origins");
  counts.edges = file.number("SELECT count(*) FROM edges");
  counts.vectors = file.number("SELECT count(*) FROM vectors");
  counts.spaces = parts_->spaces();
  return counts;
}

}  // namespace tiffany::agent

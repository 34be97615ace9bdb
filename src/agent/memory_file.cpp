#include "agent/memory_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "tiffany/base/error.hpp"
#include "tiffany/core/world.hpp"

namespace tiffany::agent {
namespace {

constexpr std::int64_t kMemoryVersion = 2;
constexpr std::int64_t kMemoryApplication = 0x7469666D;  // "tifm"
constexpr std::int64_t kMemoryPage = 4096;
// To forget a note needs room, too: FTS5 writes down that its words are gone.
constexpr std::int64_t kPagesToForget = 1024;
// More than a note with all that belongs to it: its text, words, vector, edges.
constexpr std::int64_t kPagesOfNote = 16;

// Keys are never given twice: vectors in memory are named by them.
constexpr const char* kMemorySchema = R"sql(
CREATE TABLE nodes(
  key INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
  text TEXT NOT NULL, made_us INTEGER NOT NULL, expires_us INTEGER NOT NULL);
CREATE INDEX nodes_expiry ON nodes(expires_us) WHERE expires_us > 0;
CREATE TABLE origins(
  node INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE, task TEXT NOT NULL,
  step TEXT NOT NULL, made_us INTEGER NOT NULL, expires_us INTEGER NOT NULL,
  PRIMARY KEY(node, task, step)) WITHOUT ROWID;
CREATE TABLE edges(
  a INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
  b INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
  kind TEXT NOT NULL, PRIMARY KEY(a, b, kind)) WITHOUT ROWID;
CREATE INDEX edges_back ON edges(b);
CREATE TABLE recalled(
  task TEXT NOT NULL, digest TEXT NOT NULL, at_us INTEGER NOT NULL,
  PRIMARY KEY(task, digest)) WITHOUT ROWID;
CREATE INDEX recalled_at ON recalled(at_us);
CREATE TABLE forgotten(id TEXT PRIMARY KEY, at_us INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE settings(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIRTUAL TABLE texts USING fts5(
  text, content='nodes', content_rowid='key', tokenize='unicode61 remove_diacritics 2');
)sql";

// A note has a vector in each space that it was embedded for: another model in the configuration
// mixes nothing, and the first one can come back.
constexpr const char* kSpacesSchema = R"sql(
CREATE TABLE spaces(
  key INTEGER PRIMARY KEY, model TEXT NOT NULL, dimension INTEGER NOT NULL,
  UNIQUE(model, dimension));
CREATE TABLE vectors(
  node INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
  space INTEGER NOT NULL REFERENCES spaces, vector BLOB NOT NULL, UNIQUE(node, space));
)sql";

// In version 1 vectors were of programs alone, and of one dimension for a file.
constexpr const char* kBeforeSpaces = "ALTER TABLE vectors RENAME TO vectors_before;";
constexpr const char* kIntoSpaces = R"sql(
INSERT INTO spaces(model, dimension) SELECT '', value FROM settings WHERE name = 'dimension';
INSERT INTO vectors SELECT node, (SELECT key FROM spaces), vector FROM vectors_before;
DROP TABLE vectors_before;
DELETE FROM settings WHERE name = 'dimension';
)sql";

}  // namespace

MemoryFile::MemoryFile(std::string path, const MemoryOptions& options)
    : path_(std::move(path)), options_(options) {
  try {
    open();
  } catch (...) {
    sqlite3_close_v2(db_);
    throw;
  }
}

MemoryFile::~MemoryFile() { sqlite3_close_v2(db_); }

void MemoryFile::open() {
  if (path_.empty()) throw Error(Errc::bad_argument, "The memory of agents needs a path.");
  // Notes may hold what is private. SQLite gives the files beside it the same mode.
  WorldFiles& files = World::current().files();
  const int made = files.open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600);
  if (made < 0) {
    throw Error(Errc::memory_failed,
                "The memory " + path_ + " cannot be opened for writing (" +
                    std::generic_category().message(errno) +
                    "). Check that its directory is there, and that this user may write in it.");
  }
  struct stat about{};
  const bool regular = files.status(made, about) == 0 && S_ISREG(about.st_mode);
  files.close(made);
  if (!regular) throw Error(Errc::memory_failed, "The memory " + path_ + " is no file.");
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  if (const int code = sqlite3_open_v2(path_.c_str(), &db_, flags, nullptr); code != SQLITE_OK) {
    fail(code);
  }
  sqlite3_extended_result_codes(db_, 1);
  sqlite3_busy_timeout(db_, options_.patience_ms);
  // The file may come from anywhere: its schema can neither call functions nor write what FTS5
  // keeps in tables.
  sqlite3_db_config(db_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  run("PRAGMA trusted_schema=OFF");
  run("PRAGMA cell_size_check=ON");
  require_ours();
  run("PRAGMA journal_mode=WAL");
  run("PRAGMA synchronous=FULL");
  run("PRAGMA foreign_keys=ON");
  const std::int64_t pages = options_.most_bytes / kMemoryPage + kPagesToForget;
  run(("PRAGMA max_page_count=" + std::to_string(pages)).c_str());
  make_schema();
}

// Before anything is written to it.
void MemoryFile::require_ours() {
  const std::int64_t application = number("PRAGMA application_id");
  const std::int64_t version = number("PRAGMA user_version");
  const std::int64_t tables = number("SELECT count(*) FROM sqlite_schema");
  if (application != kMemoryApplication && (application != 0 || version != 0 || tables != 0)) {
    throw Error(Errc::memory_failed,
                "The memory " + path_ + " is a database of another program. Name another file.");
  }
  if (version > kMemoryVersion) {
    throw Error(Errc::memory_failed, "The memory " + path_ + " has version " +
                                         std::to_string(version) + ", and this program knows " +
                                         std::to_string(kMemoryVersion) +
                                         " and older ones. Use a newer program, or another file.");
  }
}

void MemoryFile::make_schema() {
  if (number("PRAGMA user_version") == kMemoryVersion) return;
  Transaction transaction(*this, Transaction::For::writing);
  // Another process may have been faster.
  const std::int64_t version = number("PRAGMA user_version");
  if (version == kMemoryVersion) return;
  run(version == 0 ? kMemorySchema : kBeforeSpaces);
  run(kSpacesSchema);
  if (version != 0) run(kIntoSpaces);
  run(("PRAGMA application_id=" + std::to_string(kMemoryApplication)).c_str());
  run(("PRAGMA user_version=" + std::to_string(kMemoryVersion)).c_str());
  transaction.commit();
}

void MemoryFile::require_room() {
  const std::int64_t used = number("PRAGMA page_count") - number("PRAGMA freelist_count");
  if (used + kPagesOfNote > options_.most_bytes / kMemoryPage) fail(SQLITE_FULL);
}

void MemoryFile::fail(int code) {
  const std::string said = db_ != nullptr ? sqlite3_errmsg(db_) : sqlite3_errstr(code);
  const std::string memory = "The memory " + path_ + " ";
  std::string sentence;
  switch (code & 0xFF) {
    case SQLITE_NOTADB:
      sentence = memory + "is a file of another kind, or damaged at its beginning. Name another " +
                 "file, or move that one away and rebuild the memory from the log.";
      break;
    case SQLITE_CORRUPT:
      sentence = memory + "is damaged (" + said +
                 "). Move the file away, and rebuild the memory from the log.";
      break;
    case SQLITE_FULL:
      sentence = memory + "has no room: the disk is full, or the file has its most bytes (" +
                 std::to_string(options_.most_bytes) + "). Forget or expire notes, or give room.";
      break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      sentence = memory + "is being written by another process for more than " +
                 std::to_string(options_.patience_ms) + " ms. Try again later.";
      break;
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
      sentence = memory + "cannot be opened for writing (" + said +
                 "). Check that its directory is there, and that this user may write in it.";
      break;
    default:
      sentence = memory + "cannot be read or written: " + said + " (SQLite says " +
                 std::to_string(code) + ").";
  }
  throw Error(Errc::memory_failed, sentence);
}

void MemoryFile::run(const char* sql) {
  if (const int code = sqlite3_exec(db_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) {
    fail(code);
  }
}

std::int64_t MemoryFile::number(const char* sql) {
  Statement statement(*this, sql);
  return statement.next() ? statement.integer(0) : 0;
}

Statement::Statement(MemoryFile& file, std::string_view sql) : file_(file) {
  check(
      sqlite3_prepare_v2(file.db_, sql.data(), static_cast<int>(sql.size()), &statement_, nullptr));
}

void Statement::check(int code) {
  if (code != SQLITE_OK) file_.fail(code);
}

Statement& Statement::bind(std::int64_t number) {
  check(sqlite3_bind_int64(statement_, ++bound_, number));
  return *this;
}

Statement& Statement::bind(std::string_view text) {
  // A null pointer would be NULL, and not an empty text.
  const char* const from = text.data() == nullptr ? "" : text.data();
  check(
      sqlite3_bind_text64(statement_, ++bound_, from, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind(std::span<const std::int8_t> bytes) {
  check(sqlite3_bind_blob64(statement_, ++bound_, bytes.data(), bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

bool Statement::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) file_.fail(code);
  return false;
}

Statement& Statement::again() {
  sqlite3_reset(statement_);
  bound_ = 0;
  return *this;
}

std::string Statement::text(int column) const {
  const auto* const from = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (from == nullptr) return {};
  return {from, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::span<const std::int8_t> Statement::bytes(int column) const {
  const auto* const from = static_cast<const std::int8_t*>(sqlite3_column_blob(statement_, column));
  return {from, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Transaction::Transaction(MemoryFile& file, For what) : file_(file) {
  file.run(what == For::writing ? "BEGIN IMMEDIATE" : "BEGIN");
}

Transaction::~Transaction() {
  if (!open_) return;
  // SQLite has taken it back already after some errors; then this fails, and nothing is lost.
  try {
    file_.run("ROLLBACK");
  } catch (const Error&) {
    open_ = false;
  }
}

void Transaction::commit() {
  file_.run("COMMIT");
  open_ = false;
}

}  // namespace tiffany::agent

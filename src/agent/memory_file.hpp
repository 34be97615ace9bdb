// The SQLite file of a memory: connection, statements, transactions, schema.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tiffany/agent/memory.hpp"

namespace tiffany::agent {

class MemoryFile {
 public:
  MemoryFile(std::string path, const MemoryOptions& options);
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  void run(const char* sql);
  std::int64_t number(const char* sql);  // the first of the first row
  std::int64_t changes() const noexcept { return sqlite3_changes64(db_); }
  std::int64_t last_key() const noexcept { return sqlite3_last_insert_rowid(db_); }
  void require_room();  // for one more note
  // What a result code of SQLite means to who has this file.
  [[noreturn]] void fail(int code);

 private:
  friend class Statement;
  void open();
  void require_ours();
  void make_schema();

  std::string path_;
  MemoryOptions options_;
  sqlite3* db_ = nullptr;
};

// Values are bound in their order.
class Statement {
 public:
  Statement(MemoryFile& file, std::string_view sql);
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(std::int64_t number);
  Statement& bind(std::string_view text);
  Statement& bind(std::span<const std::int8_t> bytes);
  bool next();            // false: there are no more rows
  void run() { next(); }  // for those without rows
  Statement& again();     // with other values
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const;
  std::span<const std::int8_t> bytes(int column) const;

 private:
  void check(int code);
  MemoryFile& file_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

// Taken back, unless it is committed.
class Transaction {
 public:
  enum class For : std::uint8_t { reading, writing };
  Transaction(MemoryFile& file, For what);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  MemoryFile& file_;
  bool open_ = true;
};

}  // namespace tiffany::agent

// As much of SQLite as a test needs: statements with texts, and one transaction.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tiffany/base/error.hpp"
#include "tiffany/wal/disk.hpp"

namespace tiffany::test {

// What outlives each process. There is one for each disk of a test, in whose place it is.
class Database {
 public:
  Database() {
    sqlite3_open(":memory:", &db_);
    for (const char* sql : {"CREATE TABLE records(task, seq INTEGER, line, PRIMARY KEY(task, seq))",
                            "CREATE TABLE archive(task PRIMARY KEY, lines)",
                            "CREATE TABLE retired(n INTEGER PRIMARY KEY, task UNIQUE)",
                            "CREATE TABLE vals(name PRIMARY KEY, value)"}) {
      run(sql);
    }
  }
  ~Database() { sqlite3_close(db_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  static std::shared_ptr<Database> in_place_of(const std::shared_ptr<wal::Disk>& disk) {
    static std::map<const void*, std::pair<std::weak_ptr<wal::Disk>, std::shared_ptr<Database>>>
        all;
    std::erase_if(all, [](const auto& each) { return each.second.first.expired(); });
    auto& [of, database] = all[disk.get()];
    if (database == nullptr) database = std::make_shared<Database>();
    of = disk;
    return database;
  }

  // Every row of the answer, all of its columns as one text.
  std::vector<std::string> run(const char* sql, std::initializer_list<std::string> values = {}) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK) throw failed();
    int column = 0;
    for (const std::string& value : values) {
      sqlite3_bind_text(statement, ++column, value.data(), static_cast<int>(value.size()), nullptr);
    }
    std::vector<std::string> rows;
    int step = SQLITE_ROW;
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
      const void* const text = sqlite3_column_text(statement, 0);
      rows.emplace_back(static_cast<const char*>(text),
                        static_cast<std::size_t>(sqlite3_column_bytes(statement, 0)));
    }
    sqlite3_finalize(statement);
    if (step != SQLITE_DONE) throw failed();
    return rows;
  }
  std::uint64_t number(const char* sql, std::initializer_list<std::string> values = {}) {
    return std::stoull("0" + run(sql, values).at(0));
  }
  void begin() {
    if (sqlite3_get_autocommit(db_) != 0) run("BEGIN");
  }
  void roll_back() {
    if (sqlite3_get_autocommit(db_) == 0) run("ROLLBACK");
  }
  void commit() {
    if (sqlite3_get_autocommit(db_) == 0) run("COMMIT");
  }
  std::uint64_t epoch = 0;
  bool shut_down = false;

 private:
  Error failed() const { return Error(Errc::log_sealed, sqlite3_errmsg(db_)); }
  sqlite3* db_ = nullptr;
};

}  // namespace tiffany::test

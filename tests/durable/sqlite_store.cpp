// A RecordStore over SQLite, for tests: it shows that durable tasks need no log, and what a
// database has to give them.
#include <sqlite3.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "durable/stores.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/log_options.hpp"
#include "tiffany/wal/table_store.hpp"

namespace tiffany {
namespace sqlite_store {

// One table and one transaction. It outlives each process of a test, and is in the place of a disk.
class Database {
 public:
  Database() {
    sqlite3_open(":memory:", &db_);
    run("CREATE TABLE all_rows(n INTEGER PRIMARY KEY, kind, name, number INTEGER, text)");
    run("CREATE UNIQUE INDEX by_name ON all_rows(kind, name, number)");
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

  // The first column of every row of the answer.
  std::vector<std::string> run(const char* sql, const std::vector<std::string>& values = {}) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(db_, sql, -1, &statement, nullptr) != SQLITE_OK) throw failed();
    for (std::size_t i = 0; i < values.size(); ++i) {
      sqlite3_bind_text(statement, static_cast<int>(i) + 1, values[i].data(),
                        static_cast<int>(values[i].size()), nullptr);
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
  bool in_transaction() const noexcept { return sqlite3_get_autocommit(db_) == 0; }

  std::uint64_t epoch = 0;
  bool shut_down = false;

 private:
  Error failed() const { return Error(Errc::log_sealed, sqlite3_errmsg(db_)); }
  sqlite3* db_ = nullptr;
};

class Store final : public wal::TableStore {
 public:
  Store(std::shared_ptr<Database> db, std::int64_t epoch_time, bool claim)
      : TableStore("a database", claim ? ++db->epoch : db->epoch, claim), db_(std::move(db)) {
    if (claim) Store::roll_back();  // what a process that is gone had not committed
    load(epoch_time, claim ? std::exchange(db_->shut_down, false) : db_->shut_down);
  }

 private:
  void put(Table table, const std::string& key, std::uint64_t number,
           const std::string& text) override {
    change("INSERT OR REPLACE INTO all_rows(kind, name, number, text) VALUES(?, ?, ?, ?)",
           {kind(table), key, std::to_string(number), text});
  }
  std::vector<std::string> get(Table table, const std::string& key) const override {
    return db_->run("SELECT text FROM all_rows WHERE kind=? AND name=? ORDER BY number",
                    {kind(table), key});
  }
  std::vector<std::string> keys(Table table) const override {
    return db_->run("SELECT name FROM all_rows WHERE kind=? GROUP BY name ORDER BY MIN(n)",
                    {kind(table)});
  }
  void remove(Table table, const std::string& key, std::uint64_t first,
              std::uint64_t end) override {
    change(
        "DELETE FROM all_rows WHERE kind=? AND name=? AND number>=CAST(? AS INTEGER) "
        "AND number<CAST(? AS INTEGER)",
        {kind(table), key, std::to_string(first), std::to_string(end)});
  }
  bool owned() const noexcept override { return db_->epoch == epoch(); }
  void commit() override {
    if (db_->in_transaction()) db_->run("COMMIT");
  }
  void roll_back() noexcept override {
    if (db_->in_transaction()) db_->run("ROLLBACK");
  }
  void closed() noexcept override { db_->shut_down = true; }

  static std::string kind(Table table) { return std::to_string(static_cast<int>(table)); }
  void change(const char* sql, const std::vector<std::string>& values) {
    if (!db_->in_transaction()) db_->run("BEGIN");
    db_->run(sql, values);
  }
  std::shared_ptr<Database> db_;
};

class Provider final : public wal::StoreProvider {
 public:
  Task<std::shared_ptr<wal::RecordStore>> claim(wal::LogOptions options) override {
    co_return open(options, true);
  }
  std::shared_ptr<wal::RecordStore> look(wal::LogOptions options) override {
    return open(options, false);
  }

 private:
  static std::shared_ptr<Store> open(const wal::LogOptions& options, bool claim) {
    return std::make_shared<Store>(Database::in_place_of(options.disk), options.epoch_time, claim);
  }
};

}  // namespace sqlite_store

std::shared_ptr<wal::StoreProvider> database_provider() {
  return std::make_shared<sqlite_store::Provider>();
}
std::vector<std::string> database_lines(const std::shared_ptr<wal::Disk>& disk, const Uuid& task) {
  return sqlite_store::Database::in_place_of(disk)->run(
      "SELECT text FROM all_rows WHERE kind='0' AND name=? ORDER BY number", {task.text()});
}

}  // namespace tiffany

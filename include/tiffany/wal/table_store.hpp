// A RecordStore over the tables of a database: what every such store repeats. A database gives rows
// and transactions (the functions below "The database"); this class makes tasks, tickets, values
// and the archive of them. tests/durable/sqlite_store.cpp is one over SQLite. For a log in a
// directory use claim_store instead.
//
// Everything that was appended since the last commit is one transaction: records that wait at the
// same time are committed together, and a crash loses all of them or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "tiffany/wal/record_store.hpp"

namespace tiffany {
class Scheduler;
}

namespace tiffany::wal {

class TableStore : public RecordStore, public std::enable_shared_from_this<TableStore> {
 public:
  ~TableStore() override;

  Task<void> close() override;
  void abandon() noexcept override;
  std::vector<StoredTask*> list() override { return listed_; }
  StoredTask& add(const Uuid& id) override;
  std::uint64_t append(StoredTask& task, Entry entry, Level level, Ticket* ticket) override;
  void append_copy(StoredTask& task, std::string_view line) override;
  void hurry() override;
  Task<void> flush() override;
  std::vector<std::string> read(const StoredTask& task) override;
  Task<std::size_t> remove_unused_values() override;
  Task<std::vector<Copied>> archive(std::vector<const StoredTask*> tasks) override;
  Task<std::size_t> drop(std::vector<Uuid> tasks) override;
  bool archived(const Uuid& id) override;
  std::string read_archived(const Uuid& id) override;
  std::vector<ArchivedTask> list_archive() override;
  Task<std::size_t> retire(std::vector<Uuid> ids, std::size_t most) override;
  bool retired(const Uuid& id) const noexcept override;

 protected:
  // `writes`: it was claimed. Otherwise it is only looked at, and appends go nowhere.
  TableStore(std::string name, std::uint64_t epoch, bool writes);
  void keep_value(std::string& payload, const std::string& text) override;
  std::string kept_value(std::string_view json) override;
  // Reads which tasks there are. To be called once, when the database can be read; `epoch_time` is
  // that of LogOptions, `shut_down` is what was said to `closed` by the claim before.
  void load(std::int64_t epoch_time, bool shut_down);

  // ---- The database ----
  // A row has a table, a key, a number and a text. Rows of one key have different numbers.
  enum class Table : std::uint8_t { records, values, archive, retired };
  virtual void put(Table table, const std::string& key, std::uint64_t number,
                   const std::string& text) = 0;
  // The texts of a key, by their numbers.
  virtual std::vector<std::string> get(Table table, const std::string& key) const = 0;
  // Every key once, the one that was put first before others.
  virtual std::vector<std::string> keys(Table table) const = 0;
  // Those of a key with numbers from `first` to before `end`.
  virtual void remove(Table table, const std::string& key, std::uint64_t first = 0,
                      std::uint64_t end = INT64_MAX) = 0;
  // False: another process has claimed the database.
  virtual bool owned() const noexcept = 0;
  // Throws an Error when it is not known whether the transaction was committed.
  virtual void commit() = 0;
  virtual void roll_back() noexcept = 0;
  // Everything is committed, and nothing more comes.
  virtual void closed() noexcept = 0;

 private:
  class Writing;
  void insert(StoredTask& task, std::uint64_t seq, const std::string& line);
  template <class F>
  void change(const F& rows);
  static Task<void> write_once(Writing writing);
  Task<void> write();
  void seal(std::exception_ptr why) noexcept;
  void give_up() noexcept;
  void tell_all(const std::exception_ptr& error) noexcept;

  Scheduler& scheduler_;
  bool writes_;
  bool writing_ = false;  // the writer is on its way
  std::map<Uuid, std::unique_ptr<StoredTask>> tasks_;
  std::vector<StoredTask*> listed_;
  std::unordered_set<Uuid, UuidHash> retired_;
  TicketList tickets_;
};

}  // namespace tiffany::wal

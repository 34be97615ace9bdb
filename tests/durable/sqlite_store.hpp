// A RecordStore over SQLite, for tests: it shows that durable tasks need no log, and what a
// database has to give them. Appends are rows of a transaction; what waits at the same time is
// committed together.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "durable/sqlite_database.hpp"
#include "tiffany/tiffany.hpp"
#include "tiffany/wal/log_options.hpp"
#include "tiffany/wal/values.hpp"

namespace tiffany::test {

class SqliteStore final : public wal::RecordStore,
                          public std::enable_shared_from_this<SqliteStore> {
 public:
  SqliteStore(std::shared_ptr<Database> db, const wal::LogOptions& options, bool claim)
      : RecordStore("a database", claim ? ++db->epoch : db->epoch,
                    wal::WallClock(Scheduler::require("a store"), 0, 0)),
        db_(std::move(db)),
        writes_(claim) {
    if (claim) db_->roll_back();  // what a process that is gone had not committed
    found_.shut_down = claim ? std::exchange(db_->shut_down, false) : db_->shut_down;
    for (const std::string& id :
         db_->run("SELECT task FROM records GROUP BY task ORDER BY MIN(rowid)")) {
      wal::StoredTask& task = add(*Uuid::parse(id));
      for (const std::string& line : read(task)) {
        const wal::RecordView view = wal::view_of(line);
        wal::note_record(task, view);
        found_.last_time = std::max(found_.last_time, wal::parse_time(view.ts).value_or(0));
      }
      if (task.last_seq >= task.forked_at) listed_.push_back(&task);
    }
    clock_ = wal::WallClock(scheduler_, options.epoch_time, found_.last_time);
  }

  Task<void> close() override {
    co_await flush();
    sealed_ = std::make_exception_ptr(Error(Errc::log_sealed, "The database is closed."));
    db_->shut_down = true;
  }
  void abandon() noexcept override {
    if (sealed_ == nullptr && writes_ && db_->epoch == epoch_) db_->roll_back();
    if (sealed_ == nullptr) {
      sealed_ = std::make_exception_ptr(Error(Errc::log_sealed, "The database was left."));
    }
  }
  std::vector<wal::StoredTask*> list() override { return listed_; }
  wal::StoredTask& add(const Uuid& id) override {
    auto& task = tasks_[id];
    if (task == nullptr) task = std::make_unique<wal::StoredTask>();
    task->id = id;
    return *task;
  }
  std::uint64_t append(wal::StoredTask& task, wal::Entry entry, wal::Level level,
                       wal::Ticket* ticket) override {
    require_open();
    if (!writes_) return ++task.last_seq;
    if (entry.payload.size() > wal::kLongestLine - 400) {
      throw Error(Errc::bad_argument, "A record of so many bytes is too long.");
    }
    entry.seq = task.last_seq + 1;
    std::string line;
    wal::append_line(line, entry, wal::text_of_time(clock_.now()), 0, false);
    insert(task, entry.seq, std::move(line));
    if (entry.type == wal::RecordType::Checkpoint) {
      db_->run("DELETE FROM records WHERE task=? AND seq>1 AND seq<?",
               {task.id.text(), std::to_string(entry.seq)});
    }
    if (ticket != nullptr) tickets_.push(*ticket);
    if (level == wal::Level::sync) hurry();
    return entry.seq;
  }
  void append_copy(wal::StoredTask& task, std::string_view line) override {
    std::string copy = wal::reseeded(line.substr(0, line.size() - 1), 0);
    const std::uint64_t seq = wal::view_of(copy).seq;
    insert(task, seq, std::move(copy));
  }
  void hurry() override {
    if (std::exchange(writing_, true)) return;
    scheduler_.spawn.system()(&SqliteStore::write, shared_from_this());
  }
  Task<void> flush() override {
    wal::Synced synced;
    tickets_.push(synced);
    hurry();
    co_await synced.event.wait();
    if (synced.error != nullptr) std::rethrow_exception(synced.error);
  }
  std::vector<std::string> read(const wal::StoredTask& task) override {
    return db_->run("SELECT line FROM records WHERE task=? ORDER BY seq", {task.id.text()});
  }

  void add_value(std::string& payload, const std::string& value) override {
    if (!wal::belongs_aside(value)) {
      payload += value;
      return;
    }
    const std::string name = wal::value_name(value);
    db_->begin();
    db_->run("INSERT OR REPLACE INTO vals VALUES(?, ?)", {name, value});
    payload += wal::value_reference(name, value.size());
  }
  std::string value_of(std::string_view json) override {
    if (!wal::belongs_aside(json)) return std::string(json);
    std::unordered_set<std::string> names;
    wal::find_values(json, names);
    return db_->run("SELECT value FROM vals WHERE name=?", {*names.begin()}).at(0);
  }
  Task<std::size_t> remove_unused_values() override {
    std::unordered_set<std::string> needed;
    for (const char* sql : {"SELECT line FROM records", "SELECT lines FROM archive"}) {
      for (const std::string& text : db_->run(sql)) wal::find_values(text, needed);
    }
    std::size_t removed = 0;
    for (const std::string& each : db_->run("SELECT name FROM vals")) {
      if (needed.contains(each)) continue;
      db_->run("DELETE FROM vals WHERE name=?", {each});
      ++removed;
    }
    co_await flush();
    co_return removed;
  }

  Task<std::vector<Copied>> archive(std::vector<const wal::StoredTask*> tasks) override {
    std::vector<Copied> copied;
    db_->begin();
    for (const wal::StoredTask* task : tasks) {
      std::string lines;
      for (const std::string& line : read(*task)) lines += line;
      db_->run("INSERT OR REPLACE INTO archive VALUES(?, ?)", {task->id.text(), lines});
      copied.push_back({task->id, task->last_seq});
    }
    co_await flush();
    co_return copied;
  }
  Task<std::size_t> drop(std::vector<Uuid> tasks) override {
    db_->begin();
    for (const Uuid& id : tasks) {
      db_->run("DELETE FROM records WHERE task=?", {id.text()});
      tasks_.erase(id);
    }
    co_await flush();
    co_return 0;
  }
  bool archived(const Uuid& id) override { return !read_archived(id).empty(); }
  std::string read_archived(const Uuid& id) override {
    const auto rows = db_->run("SELECT lines FROM archive WHERE task=?", {id.text()});
    return rows.empty() ? std::string() : rows[0];
  }
  std::vector<wal::ArchivedTask> list_archive() override {
    std::vector<wal::ArchivedTask> all;
    for (const std::string& id : db_->run("SELECT task FROM archive")) {
      const std::string lines = read_archived(*Uuid::parse(id));
      const std::string last = lines.substr(lines.rfind('\n', lines.size() - 2) + 1);
      const auto time = wal::parse_time(wal::view_of(last).ts);
      all.push_back({*Uuid::parse(id), time.value_or(0), lines.size()});
    }
    return all;
  }
  Task<std::size_t> retire(std::vector<Uuid> ids, std::size_t most) override {
    db_->begin();
    for (const Uuid& id : ids) {
      db_->run("INSERT OR IGNORE INTO retired(task) VALUES(?)", {id.text()});
      db_->run("DELETE FROM archive WHERE task=?", {id.text()});
    }
    const std::size_t all = db_->number("SELECT COUNT(*) FROM retired");
    const std::size_t gone = all > most ? all - most : 0;
    db_->run("DELETE FROM retired WHERE n IN (SELECT n FROM retired ORDER BY n LIMIT ?)",
             {std::to_string(gone)});
    co_await flush();
    co_return gone;
  }
  bool retired(const Uuid& id) const noexcept override {
    return db_->number("SELECT COUNT(*) FROM retired WHERE task=?", {id.text()}) != 0;
  }

 private:
  void insert(wal::StoredTask& task, std::uint64_t seq, std::string line) {
    if (db_->epoch != epoch_) {
      throw Error(Errc::log_fenced, "Another process has claimed the database.");
    }
    db_->begin();
    counters_.records += 1;
    counters_.bytes += line.size();
    db_->run("INSERT INTO records VALUES(?, ?, ?)", {task.id.text(), std::to_string(seq), line});
    task.last_seq = seq;
  }
  static Task<void> write(std::shared_ptr<SqliteStore> store) {
    co_await sleep_until(store->scheduler_.now());
    store->writing_ = false;
    if (store->sealed_ != nullptr) co_return;
    wal::TicketList told;
    told.take(store->tickets_);
    std::exception_ptr error;
    try {
      if (store->db_->epoch != store->epoch_) throw Error(Errc::log_fenced, "Another has it.");
      store->db_->commit();
      ++store->counters_.syncs;
    } catch (const Error&) {
      error = store->sealed_ = std::current_exception();
    }
    while (wal::Ticket* const ticket = told.pop()) ticket->synced(error);
  }

  std::shared_ptr<Database> db_;
  bool writes_;
  Scheduler& scheduler_ = Scheduler::require("a store");
  std::map<Uuid, std::unique_ptr<wal::StoredTask>> tasks_;
  std::vector<wal::StoredTask*> listed_;
  wal::TicketList tickets_;
  bool writing_ = false;
};

class SqliteProvider final : public wal::StoreProvider {
 public:
  Task<std::shared_ptr<wal::RecordStore>> claim(wal::LogOptions options) override {
    co_return std::make_shared<SqliteStore>(Database::in_place_of(options.disk), options, true);
  }
  std::shared_ptr<wal::RecordStore> look(wal::LogOptions options) override {
    return std::make_shared<SqliteStore>(Database::in_place_of(options.disk), options, false);
  }
};

}  // namespace tiffany::test
